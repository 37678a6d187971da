import type { KubeClient, ObjectAddress } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { type ReconciledKind, type WorkKey, workloadKey } from "../../model/key.ts";
import { reconcileRequestedAnnotation } from "../../relay/event-to-key/fingerprint.ts";
import { plainKubernetes, resolveLogicalCluster } from "../../upstream/logical-cluster.ts";
import { type CliIo, UsageError } from "../cli-io.ts";
import { parseName } from "../names.ts";
import { type NamespaceOptions, namespaceOf, withNamespaceOption } from "../options.ts";
import { type NamedWorkload, parseWorkloadArgument, typeTitle } from "../workload/workload-argument.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import { type QueueOptions, queueUrlOption, withSqs } from "./queue-options.ts";

/** The names of TMC's kinds that the command accepts, as kubectl does. */
const kindNames: ReadonlyMap<string, ReconciledKind> = new Map([
  ["cluster", "ClusterRegistration"],
  ["clusterregistration", "ClusterRegistration"],
  ["clusterregistrations", "ClusterRegistration"],
  ["cr", "ClusterRegistration"],
  ["placement", "WorkloadPlacement"],
  ["workloadplacement", "WorkloadPlacement"],
  ["workloadplacements", "WorkloadPlacement"],
  ["wp", "WorkloadPlacement"],
]);

type ReconcileOptions = WorkspaceOptions & NamespaceOptions & QueueOptions & Readonly<{ logicalCluster?: string }>;

const help = `
Examples:
  # Probe a cluster now
  tmc reconcile cluster east

  # Decide a placement now
  tmc reconcile placement web

  # Compare a workload with its copies now
  tmc reconcile deploy/web -n shop
`;

/** Creates the `reconcile` command. */
export function reconcileCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withNamespaceOption(
      new Command("reconcile")
        .summary("Request an immediate reconcile of an object")
        .description(
          "Request an immediate reconcile: the controller probes a cluster, decides a placement, or syncs a workload. The request is an annotation on the object and requires the permission to patch it. With --queue-url, the request goes directly to the work queue and no object is changed.",
        )
        .addArgument(new Argument("<kind>", "cluster, placement or the type of a workload; or kind/name"))
        .addArgument(new Argument("[name]", "Name of the object"))
        .addOption(queueUrlOption("URL of the work queue to send the request to"))
        .addOption(
          new Option(
            "--logical-cluster <name>",
            "Name of the logical cluster of the workspace, for --queue-url without access to kcp",
          ).argParser(parseLogicalCluster),
        ),
    ),
  )
    .addHelpText("after", help)
    .action(async (first: string, second: string | undefined, options: ReconcileOptions) => {
      const named = parseObject(first, second);
      const { queueUrl, logicalCluster } = options;
      if (queueUrl === undefined) {
        if (logicalCluster !== undefined) throw new UsageError("--logical-cluster requires --queue-url");
        const title = await inWorkspace(io, options, async (workspace) => {
          const target = targetOf(named, namespaceOf(options, workspace));
          await requestReconcile(workspace.client, target, io.clock.now());
          return target.title;
        });
        io.out(`${title} reconcile requested\n`);
        return;
      }
      if (logicalCluster !== undefined && "type" in named && options.namespace === undefined) {
        throw new UsageError("--logical-cluster requires --namespace for a workload");
      }
      const { key, title } =
        logicalCluster === undefined
          ? await inWorkspace(io, options, (workspace) => findTarget(workspace, named, options))
          : withKey(targetOf(named, options.namespace ?? ""), logicalCluster);
      await withSqs(io, queueUrl, async (sqs) => {
        const { createSqsQueue } = await import("../../queue/sqs.ts");
        // The message has no delay, so it only needs the work queue.
        const queue = createSqsQueue({ sqs, urls: { work: queueUrl, delay: "", deadLetters: "" }, clock: io.clock });
        await queue.send([{ key, reason: "on-demand" }]);
      });
      io.out(`${title} sent to the work queue\n`);
    });
}

type NamedObject = Readonly<{ kind: ReconciledKind; name: string }>;

/** Parses `cluster east`, `cluster/east`, `deploy web` and `deploy/web`. */
function parseObject(first: string, second: string | undefined): NamedObject | NamedWorkload {
  const [kindName = "", ...rest] = first.split("/");
  const kind = kindNames.get(kindName.toLowerCase());
  if (kind === undefined) return parseWorkloadArgument(first, second);
  const name = rest.length > 0 ? rest.join("/") : second;
  if (name === undefined)
    throw new UsageError(`"${first}": name is required; expected kind/name, such as ${first}/east`);
  if (rest.length > 0 && second !== undefined) {
    throw new UsageError(`"${first}" and "${second}": expected kind/name, or kind and name as two arguments`);
  }
  try {
    return { kind, name: parseName(name) };
  } catch (error) {
    throw new UsageError(`"${name}": ${error instanceof Error ? error.message.replace(/\.$/, "") : String(error)}`);
  }
}

/** The object to reconcile: where it is, how it is called, and its key in a logical cluster. */
type Target = Readonly<{
  address: ObjectAddress;
  /** As kubectl prints it, such as `deployment.apps/web`. */
  title: string;
  /** For the error that it does not exist. */
  missing: string;
  keyIn: (logicalCluster: string) => WorkKey;
}>;

function targetOf(named: NamedObject | NamedWorkload, namespace: string): Target {
  const { name } = named;
  if ("type" in named) {
    const address = { type: named.type, namespace, name };
    const title = typeTitle(named);
    return {
      address,
      title: `${title}/${name}`,
      missing: `${title} "${name}": not found in namespace ${namespace}`,
      keyIn: (logicalCluster) => workloadKey(logicalCluster, address),
    };
  }
  const { kind } = named;
  return {
    address: { type: kind === "ClusterRegistration" ? resourceTypes.registrations : resourceTypes.placements, name },
    title: `${kind.toLowerCase()}.tmc.kcp.io/${name}`,
    missing: `${kind} "${name}": not found`,
    keyIn: (logicalCluster) => ({ logicalCluster, kind, name }),
  };
}

const withKey = (target: Target, logicalCluster: string) => ({ ...target, key: target.keyIn(logicalCluster) });

/** Requests the reconcile by an annotation: the controller receives it as a watch event and needs no API of its own for requests. */
async function requestReconcile(client: KubeClient, target: Target, nowMs: number): Promise<void> {
  const annotations = { [reconcileRequestedAnnotation]: new Date(nowMs).toISOString() };
  const body = { metadata: { annotations } };
  await client
    .patch<KubeObject>(target.address, { type: "merge", body }, { fieldManager: "tmc-cli" })
    .catch((error: unknown) => throwNotFound(client, target, error));
}

/** Returns an object with its key; throws when the object does not exist. */
async function findTarget(
  workspace: OpenWorkspace,
  named: NamedObject | NamedWorkload,
  options: NamespaceOptions,
): Promise<ReturnType<typeof withKey>> {
  const { client } = workspace;
  const target = targetOf(named, namespaceOf(options, workspace));
  await client.metadata.get<KubeObject>(target.address).catch((error: unknown) => throwNotFound(client, target, error));
  const [, path] = /\/clusters\/([^/]+)/.exec(client.server) ?? [];
  return withKey(target, path === undefined ? plainKubernetes.name : (await resolveLogicalCluster(client, path)).name);
}

async function throwNotFound(client: KubeClient, { address, missing }: Target, error: unknown): Promise<never> {
  if (faultOf(error) !== "not-found") throw error;
  // When the server does not serve the kind at all, the list request fails with the more useful error.
  const { type, namespace } = address;
  await client.metadata.list({ type, namespace }, { limit: 1 });
  throw new Error(missing, { cause: error });
}

function parseLogicalCluster(text: string): string {
  if (!/^[a-z0-9-]+$/.test(text))
    throw new InvalidArgumentError("expected a name such as 1k2xabc; use --workspace for a path.");
  return text;
}
