import { Buffer } from "node:buffer";
import { createHmac, randomUUID } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError, faultOf } from "@tmc/kube/errors.ts";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { Argument, Command, Option } from "commander";
import { dump } from "js-yaml";
import { autoscalerType, scales, withAutoscaledReplicas } from "../sync/desired/autoscaler.ts";
import { ownerFor } from "../sync/desired/desired.ts";
import { fieldManager } from "../sync/downstream.ts";
import { downstreamNamespace } from "../sync/ownership/namespace-map.ts";
import { belongsTo, whyNotOwned } from "../sync/ownership/owner.ts";
import { defaultSyncSettings } from "../sync/settings.ts";
import type { Manifest } from "../sync/sync-objects.ts";
import { type CliIo, Ending, UsageError } from "./cli-io.ts";
import { parseName } from "./names.ts";
import { type NamespaceOptions, namespaceOf, withNamespaceOption } from "./options.ts";
import { formatDocument } from "./output.ts";
import { colored, unifiedDiff } from "./unified-diff.ts";
import { wantedOn } from "./wanted-manifest.ts";
import { present, type ReadWorkload, readWorkload } from "./workload-read.ts";
import { parseWorkloadWords, workloadTitle } from "./workload-words.ts";
import { inWorkspace, openEndpoint, type Workspace, type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

type DiffOptions = WorkspaceOptions &
  NamespaceOptions &
  Readonly<{
    cluster: string;
    clusterKubeconfig?: string;
    clusterContext?: string;
    hubId: string;
    output: "diff" | "json" | "yaml";
  }>;

const help = `
What is shown is what the controller would write now: with the cluster's share of the replicas, the placement's overrides, and
TMC's own marks. With --cluster-kubeconfig the cluster is asked what it has and, without storing anything, what it would have
then; for that the kubeconfig's user needs the rights to get and patch the object there. Without it the manifest is held against
the record: the same as was last written, or all of it new.

As with kubectl diff the exit code is 0 when nothing differs, 1 when something does, and 2 when that could not be found out.
Values of Secrets are never shown: each is replaced by a text that tells only whether two of one output are the same.

Examples:
  tmc diff deploy/web -n shop --cluster east
  tmc diff deploy/web -n shop --cluster east --cluster-kubeconfig .tmc/east.kubeconfig
  tmc diff deploy/web -n shop --cluster east -o yaml      the manifest itself
`;

/** The command that shows what a cluster would be sent of a workload. */
export function diffCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("diff")
        .summary("show what would be written to a cluster")
        .description("Shows what a cluster would be given of a workload, and how that differs from what it has.")
        .addArgument(new Argument("<workload>", "the workload, as kind/name"))
        .requiredOption("--cluster <name>", "the cluster", parseName)
        .option("--cluster-kubeconfig <path>", "a kubeconfig of that cluster, to compare with what is there")
        .option("--cluster-context <name>", "the context of that kubeconfig to use")
        .option("--hub-id <name>", "by what the controller tells its kcp from others", defaultSyncSettings.hubId)
        .addOption(
          new Option("-o, --output <format>", "the difference, or the manifest")
            .choices(["diff", "json", "yaml"])
            .default("diff"),
        ),
    ),
  )
    .addHelpText("after", help)
    .action(async (word: string, options: DiffOptions) => {
      try {
        await inWorkspace(io, options, (workspace) => show(io, workspace, word, options));
      } catch (error) {
        if (error instanceof Ending || error instanceof UsageError) throw error;
        // Here 1 means that something differs.
        throw new Ending(2, error instanceof Error ? error.message : String(error), { cause: error });
      }
    });
}

async function show(io: CliIo, workspace: Workspace, word: string, options: DiffOptions): Promise<void> {
  const { cluster, hubId, output } = options;
  const named = parseWorkloadWords(word);
  const namespace = namespaceOf(options, workspace);
  const read = await readWorkload(workspace, named, { namespace, metadataOnly: false });
  const isAutoscaled = await hasAutoscaler(workspace, read);
  const wanted = wantedOn({ read, cluster, hubId, isAutoscaled });
  const secretKey = randomUUID();
  if (output !== "diff") {
    io.out(formatDocument(maskedSecret(withAutoscaledReplicas(wanted.wish, undefined), secretKey), output));
    return;
  }
  const title = workloadTitle({ ...read, name: named.name });
  if (options.clusterKubeconfig === undefined) {
    if (wanted.before?.appliedHash === wanted.wish.fingerprint) {
      io.err(`${title} on ${cluster}: nothing differs from what was last written\n`);
      return;
    }
    const after = documentOf(withAutoscaledReplicas(wanted.wish, undefined), secretKey);
    report(io, unifiedDiff("", after, { before: "/dev/null", after: `${cluster}: ${title}` }));
    return;
  }
  const there = { cluster, title, namespace: downstreamNamespace(wanted.locator) };
  await onCluster(io, options, async (client) => {
    const address = { type: named.type, namespace: there.namespace, name: named.name };
    const live = await present(client.get<KubeObject>(address));
    const origin = ownerFor(
      { apiVersion: read.apiVersion, kind: read.kind, metadata: { name: named.name } },
      wanted.locator,
      cluster,
    );
    if (live !== undefined && !belongsTo(live, origin)) {
      io.err(`${title} on ${cluster}: there is one of that name already: ${whyNotOwned(live, origin)}\n`);
    }
    const manifest = withAutoscaledReplicas(wanted.wish, live);
    const after = await wouldBe(client, { address, manifest });
    report(
      io,
      unifiedDiff(live === undefined ? "" : documentOf(live, secretKey), documentOf(after, secretKey), {
        before: `${cluster}: ${title} in ${there.namespace}, as it is`,
        after: `${cluster}: ${title} in ${there.namespace}, as it would be`,
      }),
    );
  });
}

async function hasAutoscaler({ client }: Workspace, { kind, namespace, named }: ReadWorkload): Promise<boolean> {
  const { items } = await client.listAll<KubeObject>({ type: autoscalerType, namespace });
  return items.some((each) => scales(each, { kind, namespace, name: named.name }));
}

type Application = Readonly<{ address: Parameters<KubeClient["patch"]>[0]; manifest: Manifest }>;

/** What the cluster would have after our write; the manifest itself where not even its namespace is there. */
async function wouldBe(client: KubeClient, { address, manifest }: Application): Promise<KubeObject | Manifest> {
  return client
    .patch<KubeObject>(address, { type: "apply", body: manifest, force: true }, { fieldManager, dryRun: true })
    .catch((error: unknown) => {
      if (faultOf(error) === "not-found") return manifest;
      throw error;
    });
}

async function onCluster(
  io: CliIo,
  { cluster, clusterKubeconfig, clusterContext }: DiffOptions,
  work: (client: KubeClient) => Promise<void>,
): Promise<void> {
  const endpoint = await openEndpoint(io, { kubeconfig: clusterKubeconfig, context: clusterContext });
  const client = createKubeClient({ endpoint, transport: createHttpsTransport(endpoint), clock: io.clock });
  try {
    await work(client);
  } catch (error) {
    // Otherwise it would be taken for an answer of the workspace.
    if (error instanceof ApiError) throw new Ending(2, `cluster ${cluster}: ${error.message}`, { cause: error });
    throw error;
  } finally {
    await client.close();
  }
}

function report(io: CliIo, diff: string): void {
  if (diff === "") return;
  io.out(io.terminal === undefined || io.env.NO_COLOR ? diff : colored(diff));
  throw new Ending(1);
}

/** What a person says about an object, as a document in which the order of fields is always the same. */
function documentOf({ status: _, metadata, ...object }: KubeObject | Manifest, secretKey: string): string {
  const { name, namespace, labels, annotations } = metadata;
  const shown = { ...object, metadata: { annotations, labels, name, namespace } };
  return dump(maskedSecret(shown, secretKey), { sortKeys: true, noRefs: true, lineWidth: -1, skipInvalid: true });
}

type Shown = Readonly<Pick<KubeObject, "apiVersion" | "kind"> & { metadata: object; [field: string]: unknown }>;

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * A Secret without what it holds: in place of every value stands a text that is the same for the same value, and only under
 * the same key. With a new key each time nobody can try out values against what was printed. Anything else stays as it is.
 */
export function maskedSecret<T extends Shown>(object: T, key: string): T {
  if (object.kind !== "Secret" || object.apiVersion !== "v1") return object;
  const { data, stringData, metadata, ...rest } = object;
  const masked = {
    ...valuesOf(data, (text) => Buffer.from(text, "base64"), key),
    ...valuesOf(stringData, Buffer.from, key),
  };
  // Only the fields that hold values differ, and those are of any type in it.
  return {
    ...rest,
    metadata: withoutCopy(metadata),
    ...(Object.keys(masked).length === 0 ? {} : { data: masked }),
  } as unknown as T;
}

function valuesOf(values: unknown, bytesOf: (text: string) => Buffer, key: string): Readonly<Record<string, string>> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const bytes = bytesOf(typeof value === "string" ? value : JSON.stringify(value));
      const hash = createHmac("sha256", key).update(bytes).digest("hex").slice(0, 12);
      return [name, `*** ${hash}`];
    }),
  );
}

/** kubectl keeps a second copy of the whole in an annotation. */
function withoutCopy(metadata: object): object {
  if (!("annotations" in metadata) || typeof metadata.annotations !== "object" || metadata.annotations === null) {
    return metadata;
  }
  const annotations = Object.entries(metadata.annotations).filter(([name]) => name !== lastApplied);
  return { ...metadata, annotations: Object.fromEntries(annotations) };
}
