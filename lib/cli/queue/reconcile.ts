import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import type { ReconciledKind } from "../../model/key.ts";
import { reconcileRequestedAnnotation } from "../../relay/event-to-key/fingerprint.ts";
import { plainKubernetes, resolveLogicalCluster } from "../../upstream/logical-cluster.ts";
import { type CliIo, UsageError } from "../cli-io.ts";
import { parseName } from "../names.ts";
import { inWorkspace, resourceTypes, type WorkspaceOptions, withWorkspaceOptions } from "../workspace.ts";
import { type QueueOptions, queueUrlOption, withSqs } from "./queue-options.ts";

/** The names of the kinds that the command accepts, as kubectl does. */
const kindNames: Readonly<Record<string, ReconciledKind>> = {
  cluster: "ClusterRegistration",
  clusterregistration: "ClusterRegistration",
  clusterregistrations: "ClusterRegistration",
  cr: "ClusterRegistration",
  placement: "WorkloadPlacement",
  workloadplacement: "WorkloadPlacement",
  workloadplacements: "WorkloadPlacement",
  wp: "WorkloadPlacement",
};

type ReconcileOptions = WorkspaceOptions & QueueOptions & Readonly<{ logicalCluster?: string }>;

/** Creates the `reconcile` command. */
export function reconcileCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("reconcile")
      .summary("Request an immediate reconcile of an object")
      .description(
        "Request an immediate reconcile: the controller probes a cluster, or decides a placement. The request is an annotation on the object and requires the permission to patch it. With --queue-url, the request goes directly to the work queue and no object is changed.",
      )
      .addArgument(new Argument("<kind>", "Kind of the object: cluster or placement").choices(Object.keys(kindNames)))
      .addArgument(new Argument("<name>", "Name of the object").argParser(parseName))
      .addOption(queueUrlOption("URL of the work queue to send the request to"))
      .addOption(
        new Option(
          "--logical-cluster <name>",
          "Name of the logical cluster of the workspace, for --queue-url without access to kcp",
        ).argParser(parseLogicalCluster),
      ),
  ).action(async (kindName: string, name: string, options: ReconcileOptions) => {
    const kind = kindNames[kindName] ?? "WorkloadPlacement"; // the argument's choices allow only known names
    const { queueUrl, logicalCluster } = options;
    if (queueUrl === undefined) {
      if (logicalCluster !== undefined) throw new UsageError("--logical-cluster requires --queue-url");
      await inWorkspace(io, options, ({ client }) => requestReconcile(client, { kind, name, nowMs: io.clock.now() }));
      io.out(`${kind.toLowerCase()}.tmc.kcp.io/${name} reconcile requested\n`);
      return;
    }
    const targetLogicalCluster =
      logicalCluster ?? (await inWorkspace(io, options, ({ client }) => findLogicalCluster(client, { kind, name })));
    await withSqs(io, queueUrl, async (sqs) => {
      const { createSqsQueue } = await import("../../queue/sqs.ts");
      // The message has no delay, so it only needs the work queue.
      const queue = createSqsQueue({ sqs, urls: { work: queueUrl, delay: "", deadLetters: "" }, clock: io.clock });
      await queue.send([{ key: { logicalCluster: targetLogicalCluster, kind, name }, reason: "on-demand" }]);
    });
    io.out(`${kind.toLowerCase()}.tmc.kcp.io/${name} sent to the work queue\n`);
  });
}

type ObjectName = Readonly<{ kind: ReconciledKind; name: string }>;

/** Requests the reconcile by an annotation: the controller receives it as a watch event and needs no API of its own for requests. */
async function requestReconcile(
  client: KubeClient,
  { kind, name, nowMs }: ObjectName & Readonly<{ nowMs: number }>,
): Promise<void> {
  const type = typeOf(kind);
  const annotations = { [reconcileRequestedAnnotation]: new Date(nowMs).toISOString() };
  await client
    .patch<KubeObject>(
      { type, name },
      { type: "merge", body: { metadata: { annotations } } },
      { fieldManager: "tmc-cli" },
    )
    .catch((error: unknown) => throwNotFound(client, { kind, name }, error));
}

/** Returns the logical cluster of an object; throws when the object does not exist. */
async function findLogicalCluster(client: KubeClient, { kind, name }: ObjectName): Promise<string> {
  await client
    .get<KubeObject>({ type: typeOf(kind), name })
    .catch((error: unknown) => throwNotFound(client, { kind, name }, error));
  const [, path] = /\/clusters\/([^/]+)/.exec(client.server) ?? [];
  return path === undefined ? plainKubernetes.name : (await resolveLogicalCluster(client, path)).name;
}

async function throwNotFound(client: KubeClient, { kind, name }: ObjectName, error: unknown): Promise<never> {
  if (faultOf(error) !== "not-found") throw error;
  // When the server does not serve the kind at all, the list request fails with the more useful error.
  await client.list({ type: typeOf(kind) }, { limit: 1 });
  throw new Error(`${kind} "${name}": not found`, { cause: error });
}

function typeOf(kind: ReconciledKind): ResourceType {
  return kind === "ClusterRegistration" ? resourceTypes.registrations : resourceTypes.placements;
}

function parseLogicalCluster(text: string): string {
  if (!/^[a-z0-9-]+$/.test(text))
    throw new InvalidArgumentError("expected a name such as 1k2xabc; use --workspace for a path.");
  return text;
}
