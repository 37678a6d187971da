import { Buffer } from "node:buffer";
import { createHmac, randomUUID } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import { Argument, Command, Option } from "commander";
import { dump } from "js-yaml";
import { autoscalerType, scales, withAutoscaledReplicas } from "../../sync/desired/autoscaler.ts";
import { ownerFor } from "../../sync/desired/desired.ts";
import { downstreamFieldManager } from "../../sync/downstream.ts";
import { downstreamNamespace } from "../../sync/ownership/namespace-map.ts";
import { isOwnedBy, whyNotOwned } from "../../sync/ownership/owner.ts";
import { hubIdAnnotation, lastWrittenHashAnnotation } from "../../sync/ownership/record.ts";
import type { Manifest } from "../../sync/sync-objects.ts";
import { legacyHubId } from "../../upstream/hub-identity.ts";
import { type CliIo, CommandExit, UsageError, usesColor } from "../cli-io.ts";
import { parseName } from "../names.ts";
import { type NamespaceOptions, namespaceOf, withNamespaceOption } from "../options.ts";
import { formatDocument } from "../output.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  openEndpoint,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import { type DesiredOnCluster, desiredOn, placedClusters } from "./desired-manifest.ts";
import { colored, unifiedDiff } from "./unified-diff.ts";
import { parseWorkloadArgument, workloadTitle } from "./workload-argument.ts";
import { readWorkload, unlessNotFound, type WorkloadRead } from "./workload-read.ts";

type DiffOptions = WorkspaceOptions &
  NamespaceOptions &
  Readonly<{
    cluster?: string;
    clusterKubeconfig?: string;
    clusterContext?: string;
    hubId?: string;
    output: "diff" | "json" | "yaml";
  }>;

const help = `
For each cluster, the command computes the manifest that the controller would
write now, with the replicas of the cluster, the overrides of the placement, and
the owner annotation and label of TMC. With --cluster-kubeconfig, it reads the
object on the cluster and applies the manifest as a server-side dry run, which
requires the permissions to get and patch the object. Without it, it compares
the manifest with the hash in the sync record, and prints either no difference
or the whole manifest.

As with kubectl diff, the exit code is 0 without differences, 1 with
differences, and 2 after an error. Values of Secrets are replaced by hashes,
which only show whether two values of the same output are equal.

Examples:
  # Compare the desired manifests with the last written ones, on all clusters
  tmc diff deploy/web -n shop

  # Compare the desired manifest with the last written one
  tmc diff deploy/web -n shop --cluster east

  # Compare the desired manifest with the object on the cluster
  tmc diff deploy/web -n shop --cluster east \\
    --cluster-kubeconfig .tmc/east.kubeconfig

  # Print the desired manifest
  tmc diff deploy/web -n shop --cluster east -o yaml
`;

/** Creates the `diff` command. */
export function diffCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("diff")
        .summary("Compare the desired manifests of a workload with its clusters")
        .description(
          "Show the manifests of a workload that the controller would write to its clusters, as differences from the current objects.",
        )
        .addArgument(new Argument("<workload>", "Workload as kind/name"))
        .option("--cluster <name>", "Name of the cluster (default: all clusters of the workload)", parseName)
        .option("--cluster-kubeconfig <path>", "Path to a kubeconfig for the cluster, to compare with the object on it")
        .option("--cluster-context <name>", "Context of the cluster kubeconfig")
        .option("--hub-id <id>", "Id of the hub in the owner annotation (default: the one in the sync record)")
        .addOption(
          new Option("-o, --output <format>", "Output format: the difference, or the manifest as json or yaml")
            .choices(["diff", "json", "yaml"])
            .default("diff"),
        ),
    ),
  )
    .addHelpText("after", help)
    .action(async (argument: string, options: DiffOptions) => {
      try {
        await inWorkspace(io, options, (workspace) => printDiff(io, workspace, argument, options));
      } catch (error) {
        if (error instanceof CommandExit || error instanceof UsageError) throw error;
        // Exit code 1 means that there are differences.
        throw new CommandExit(2, error instanceof Error ? error.message : String(error), { cause: error });
      }
    });
}

async function printDiff(io: CliIo, workspace: OpenWorkspace, argument: string, options: DiffOptions): Promise<void> {
  const { cluster, clusterKubeconfig, output } = options;
  if (cluster === undefined && clusterKubeconfig !== undefined)
    throw new UsageError("--cluster-kubeconfig requires --cluster");
  const named = parseWorkloadArgument(argument);
  const namespace = namespaceOf(options, workspace);
  const read = await readWorkload(workspace, named, { namespace, metadataOnly: false });
  const hubId = options.hubId ?? read.syncRecord?.metadata.annotations?.[hubIdAnnotation] ?? legacyHubId;
  const isAutoscaled = await hasAutoscaler(workspace, read);
  const secretKey = randomUUID();
  const all = (cluster === undefined ? placedClusters(read) : [cluster]).map(
    (targetCluster): Compared => ({
      title: workloadTitle({ ...read, name: named.name }),
      targetCluster,
      read,
      desired: desiredOn({ read, targetCluster, hubId, isAutoscaled }),
      secretKey,
    }),
  );
  if (output !== "diff") {
    const manifests = all.map(({ desired }) =>
      maskedSecret(withAutoscaledReplicas(desired.manifest, undefined), secretKey),
    );
    const [only] = manifests;
    const document = cluster === undefined ? { apiVersion: "v1", kind: "List", items: manifests } : only;
    io.out(formatDocument(document ?? {}, output));
    return;
  }
  let diff = "";
  for (const each of all) {
    diff +=
      clusterKubeconfig === undefined
        ? diffFromLastWritten(io, each)
        : await diffFromCluster(io, each, clusterKubeconfig, options);
  }
  report(io, diff);
}

/** A workload on one of its clusters. */
type Compared = Readonly<{
  title: string;
  targetCluster: string;
  read: WorkloadRead;
  desired: DesiredOnCluster;
  secretKey: string;
}>;

function diffFromLastWritten(io: CliIo, { title, targetCluster, desired, secretKey }: Compared): string {
  if (desired.lastCopy?.appliedHash === desired.manifest.hash) {
    io.err(`${title} on ${targetCluster}: no differences from the last written manifest\n`);
    return "";
  }
  const after = comparableDocument(withAutoscaledReplicas(desired.manifest, undefined), secretKey);
  return unifiedDiff("", after, { before: "/dev/null", after: `${targetCluster}: ${title}` });
}

async function diffFromCluster(
  io: CliIo,
  { title, targetCluster, read, desired, secretKey }: Compared,
  kubeconfig: string,
  { clusterContext: context }: DiffOptions,
): Promise<string> {
  const { apiVersion, kind, named } = read;
  const namespace = downstreamNamespace(desired.locator);
  return onTargetCluster(io, { targetCluster, kubeconfig, context }, async (client) => {
    const address = { type: named.type, namespace, name: named.name };
    const live = await unlessNotFound(client.get<KubeObject>(address));
    const owner = ownerFor({ apiVersion, kind, metadata: { name: named.name } }, desired.locator, targetCluster);
    if (live !== undefined && !isOwnedBy(live, owner)) {
      io.err(
        `${title} on ${targetCluster}: an object of that name exists but is not a copy of this workload: ${whyNotOwned(live, owner)}\n`,
      );
    }
    const manifest = withAutoscaledReplicas(desired.manifest, live);
    const after = await dryRunApply(client, { address, manifest });
    const before = live === undefined ? "" : comparableDocument(live, secretKey);
    return unifiedDiff(before, comparableDocument(after, secretKey), {
      before: `${targetCluster}: ${title} in ${namespace} (current)`,
      after: `${targetCluster}: ${title} in ${namespace} (desired)`,
    });
  });
}

async function hasAutoscaler({ client }: OpenWorkspace, { kind, namespace, named }: WorkloadRead): Promise<boolean> {
  const { items } = await client.listAll<KubeObject>({ type: autoscalerType, namespace });
  return items.some((each) => scales(each, { kind, namespace, name: named.name }));
}

type DryRunApply = Readonly<{ address: Parameters<KubeClient["patch"]>[0]; manifest: Manifest }>;

/** Applies the manifest as a server-side dry run; returns the manifest itself when its namespace does not exist yet. */
async function dryRunApply(client: KubeClient, { address, manifest }: DryRunApply): Promise<KubeObject | Manifest> {
  return client
    .patch<KubeObject>(
      address,
      { type: "apply", body: manifest, force: true },
      { fieldManager: downstreamFieldManager, dryRun: true },
    )
    .catch((error: unknown) => {
      if (faultOf(error) === "not-found") return manifest;
      throw error;
    });
}

async function onTargetCluster<T>(
  io: CliIo,
  { targetCluster, ...options }: Readonly<{ targetCluster: string; kubeconfig: string; context: string | undefined }>,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const endpoint = await openEndpoint(io, options);
  const client = createKubeClient({ endpoint, transport: createHttpsTransport(endpoint), clock: io.clock });
  try {
    return await work(client);
  } catch (error) {
    // Converted here, because the caller would take an ApiError for a response of kcp.
    if (error instanceof ApiError)
      throw new CommandExit(2, `cluster ${targetCluster}: ${error.message}`, { cause: error });
    throw error;
  } finally {
    await client.close();
  }
}

function report(io: CliIo, diff: string): void {
  if (diff === "") return;
  io.out(io.terminal !== undefined && usesColor(io.env) ? colored(diff) : diff);
  throw new CommandExit(1);
}

/** Returns an object without status, server-side metadata and the hash of its manifest as YAML with sorted keys. */
function comparableDocument({ status: _, metadata, ...object }: KubeObject | Manifest, secretKey: string): string {
  const { name, namespace, labels } = metadata;
  const { [lastWrittenHashAnnotation]: _hash, ...annotations } = metadata.annotations ?? {};
  const shown = {
    ...object,
    metadata: { annotations: metadata.annotations && annotations, labels, name, namespace },
  };
  return dump(maskedSecret(shown, secretKey), { sortKeys: true, noRefs: true, lineWidth: -1, skipInvalid: true });
}

type MaskableObject = Readonly<
  Pick<KubeObject, "apiVersion" | "kind"> & { metadata: object; [field: string]: unknown }
>;

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * Replaces the values of a Secret by keyed hashes, so that equal values of one output can be recognized. Because every run
 * uses a new key, a printed hash cannot be used to test guesses. Other objects are returned unchanged.
 */
export function maskedSecret<T extends MaskableObject>(object: T, key: string): T {
  if (object.kind !== "Secret" || object.apiVersion !== "v1") return object;
  const { data, stringData, metadata, ...rest } = object;
  const masked = {
    ...maskedValues(data, (text) => Buffer.from(text, "base64"), key),
    ...maskedValues(stringData, Buffer.from, key),
  };
  // Only `data`, `stringData` and `metadata` change, and the type of T does not depend on their values.
  return {
    ...rest,
    metadata: withoutLastApplied(metadata),
    ...(Object.keys(masked).length === 0 ? {} : { data: masked }),
  } as unknown as T;
}

function maskedValues(
  values: unknown,
  bytesOf: (text: string) => Buffer,
  key: string,
): Readonly<Record<string, string>> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const bytes = bytesOf(typeof value === "string" ? value : JSON.stringify(value));
      const hash = createHmac("sha256", key).update(bytes).digest("hex").slice(0, 12);
      return [name, `*** ${hash}`];
    }),
  );
}

/** Removes the annotation in which kubectl stores a copy of the whole object, including the values of a Secret. */
function withoutLastApplied(metadata: object): object {
  if (!("annotations" in metadata) || typeof metadata.annotations !== "object" || metadata.annotations === null) {
    return metadata;
  }
  const annotations = Object.entries(metadata.annotations).filter(([name]) => name !== lastApplied);
  return { ...metadata, annotations: Object.fromEntries(annotations) };
}
