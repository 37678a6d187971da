import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { Argument, Command, InvalidArgumentError, Option } from "commander";
import type { ReconciledKind } from "../model/key.ts";
import { reconcileRequestedAnnotation } from "../relay/fingerprint.ts";
import { plainHub, resolveLogicalCluster } from "../upstream/logical-cluster.ts";
import { type CliIo, UsageError } from "./cli-io.ts";
import { parseName } from "./names.ts";
import { type QueueOptions, queueUrlOption, withSqs } from "./queue-options.ts";
import { inWorkspace, resourceTypes, type WorkspaceOptions, withWorkspaceOptions } from "./workspace.ts";

/** The words for each kind, as kubectl takes them. */
const kindWords: Readonly<Record<string, ReconciledKind>> = {
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

/** The command that has the controller look at one object now. */
export function reconcileCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("reconcile")
      .summary("have the controller look at an object now")
      .description(
        "Asks the controller to look at one object now: a cluster is probed, a placement decided. The wish is an annotation on the object, so whoever may change the object may ask; with --queue-url it goes straight to the work queue of the deployed form, and nothing is written.",
      )
      .addArgument(new Argument("<kind>", "cluster or placement").choices(Object.keys(kindWords)))
      .addArgument(new Argument("<name>", "the object's name").argParser(parseName))
      .addOption(queueUrlOption("send it to this work queue"))
      .addOption(
        new Option(
          "--logical-cluster <name>",
          "with --queue-url, the workspace's logical cluster by name; kcp is then not asked",
        ).argParser(parseLogicalCluster),
      ),
  ).action(async (word: string, name: string, options: ReconcileOptions) => {
    const kind = kindWords[word] ?? "WorkloadPlacement"; // choices let nothing else through
    const { queueUrl, logicalCluster } = options;
    if (queueUrl === undefined) {
      if (logicalCluster !== undefined) throw new UsageError("--logical-cluster goes with --queue-url");
      await inWorkspace(io, options, ({ client }) => annotate(client, { kind, name, nowMs: io.clock.now() }));
      io.out(`${kind.toLowerCase()}.tmc.kcp.io/${name} will be reconciled\n`);
      return;
    }
    const cluster =
      logicalCluster ?? (await inWorkspace(io, options, ({ client }) => findHome(client, { kind, name })));
    await withSqs(io, queueUrl, async (sqs) => {
      const { createSqsQueue } = await import("../queue/sqs.ts");
      // Only what goes at once is sent, and that to the work queue.
      const queue = createSqsQueue({ sqs, urls: { work: queueUrl, delay: "", deadLetters: "" }, clock: io.clock });
      await queue.send([{ key: { logicalCluster: cluster, kind, name }, reason: "on-demand" }]);
    });
    io.out(`${kind.toLowerCase()}.tmc.kcp.io/${name} was sent to the work queue\n`);
  });
}

type Named = Readonly<{ kind: ReconciledKind; name: string }>;

/** A change that the relay sees: the wish goes the way of every event, and no controller needs a port for orders. */
async function annotate(client: KubeClient, { kind, name, nowMs }: Named & Readonly<{ nowMs: number }>): Promise<void> {
  const type = typeOf(kind);
  const annotations = { [reconcileRequestedAnnotation]: new Date(nowMs).toISOString() };
  await client
    .patch<KubeObject>(
      { type, name },
      { type: "merge", body: { metadata: { annotations } } },
      { fieldManager: "tmc-cli" },
    )
    .catch((error: unknown) => refuseMissing(client, { kind, name }, error));
}

/** The logical cluster that an object is in; fails when there is no such object. */
async function findHome(client: KubeClient, { kind, name }: Named): Promise<string> {
  await client
    .get<KubeObject>({ type: typeOf(kind), name })
    .catch((error: unknown) => refuseMissing(client, { kind, name }, error));
  const [, path] = /\/clusters\/([^/]+)/.exec(client.server) ?? [];
  return path === undefined ? plainHub.name : (await resolveLogicalCluster(client, path)).name;
}

async function refuseMissing(client: KubeClient, { kind, name }: Named, error: unknown): Promise<never> {
  if (faultOf(error) !== "not-found") throw error;
  // Fails in its own words where it is the kind that is missing.
  await client.list({ type: typeOf(kind) }, { limit: 1 });
  throw new Error(`${kind} "${name}": there is none`, { cause: error });
}

function typeOf(kind: ReconciledKind): ResourceType {
  return kind === "ClusterRegistration" ? resourceTypes.clusters : resourceTypes.placements;
}

function parseLogicalCluster(text: string): string {
  if (!/^[a-z0-9-]+$/.test(text))
    throw new InvalidArgumentError("a name is wanted, such as 1k2xabc; --workspace takes paths.");
  return text;
}
