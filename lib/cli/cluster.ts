import { faultOf } from "@tmc/kube/errors.ts";
import { Command, InvalidArgumentError } from "commander";
import { type ClusterRegistration, clusterRegistration } from "../api/cluster-registration.ts";
import { apiVersionOf } from "../api/kind.ts";
import { waitUntil } from "../install/wait.ts";
import { findCondition } from "../model/condition.ts";
import { parseSupposedTaint } from "../placement/what-if.ts";
import { type CliIo, confirmDeletion, UsageError } from "./cli-io.ts";
import { cordonCommand, drainCommand, uncordonCommand } from "./cluster-drain.ts";
import { describeCluster, formatClusters } from "./cluster-view.ts";
import { collectLabel, collectWords } from "./names.ts";
import { clusterArgument, findCluster, timeoutOption, type WaitFlags } from "./options.ts";
import { formatObjects, type Output, outputOption } from "./output.ts";

import {
  inWorkspace,
  resourceTypes,
  type Workspace,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "./workspace.ts";

type Shown = WorkspaceOptions & Readonly<{ output: Output }>;
const described = "clusterregistration.tmc.kcp.io";

/** The commands about registered clusters. */
export function clusterCommand(io: CliIo): Command {
  return new Command("cluster")
    .summary("registered clusters: list, register, unregister, status, cordon, drain")
    .description("Works with the clusters that are registered in a workspace.")
    .addCommand(listCommand(io))
    .addCommand(registerCommand(io))
    .addCommand(unregisterCommand(io))
    .addCommand(statusCommand(io))
    .addCommand(cordonCommand(io))
    .addCommand(uncordonCommand(io))
    .addCommand(drainCommand(io));
}

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("list").alias("ls").summary("list the registered clusters").addOption(outputOption()),
  ).action((options: Shown) =>
    inWorkspace(io, options, async (workspace) => {
      const clusters = await workspace.clusters();
      const { output } = options;
      if (output === "json" || output === "yaml") io.out(formatObjects(clusters, output));
      else if (clusters.length === 0) io.err("no clusters are registered\n");
      else io.out(formatClusters(clusters, { wide: output === "wide", nowMs: io.clock.now() }));
    }),
  );
}

function statusCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("status")
      .alias("describe")
      .summary("say everything that is known about a cluster")
      .addArgument(clusterArgument())
      .addOption(outputOption(["table", "json", "yaml"])),
  ).action((name: string, options: Shown) =>
    inWorkspace(io, options, async (workspace) => {
      const cluster = await findCluster(workspace, name);
      const { output } = options;
      if (output === "json" || output === "yaml") io.out(formatObjects(cluster, output));
      else io.out(describeCluster(cluster, await workspace.placements(), io.clock.now()));
    }),
  );
}

type RegisterOptions = Shown &
  WaitFlags &
  Readonly<{
    location: string;
    label?: Readonly<Record<string, string>>;
    capability?: readonly string[];
    taint?: readonly Taint[];
    kubeconfigSecret?: SecretReference;
    dryRun?: true;
  }>;

function registerCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("register")
      .summary("register a cluster")
      .description(
        "Registers a cluster. The controller gets in with the kubeconfig that it was given for that name, or with one from a Secret of the workspace.",
      )
      .addArgument(clusterArgument())
      .requiredOption("--location <place>", "where the cluster is, such as us-west-2")
      .option("--label <key=value>", "a label, for selectors; may be given several times", collectLabel)
      .option("--capability <type>", "what it offers, such as gpu; may be given several times", collectWords)
      .option("--taint <key=value:effect>", "what keeps work away; may be given several times", collectTaint)
      .option(
        "--kubeconfig-secret <namespace/name>",
        "the Secret that holds its kubeconfig, with /key behind it for an entry other than kubeconfig",
        parseSecretReference,
      )
      .option("--dry-run", "have the server check it, and print it, without storing it")
      .option("--wait", "wait until the cluster is Ready")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText(
      "after",
      `
Examples:
  tmc cluster register east --location us-east-1 --label region=us-east --capability compute
  tmc cluster register gpu-1 --location eu-central-1 --kubeconfig-secret clusters/gpu-1 --wait
`,
    )
    .action((name: string, options: RegisterOptions) =>
      inWorkspace(io, options, async (workspace) => {
        const { output, dryRun = false, wait, timeout } = options;
        const created = await workspace.client
          .create<ClusterRegistration>({ type: resourceTypes.clusters }, registrationOf(name, options), {
            dryRun,
            fieldManager: "tmc-cli",
            fieldValidation: "Strict",
          })
          .catch((error: unknown) => {
            if (faultOf(error) !== "exists") throw error;
            throw new Error(`cluster "${name}": is registered already`, { cause: error });
          });
        if (output === "json" || output === "yaml") io.out(formatObjects(created, output));
        else io.out(`${described}/${name} registered${dryRun ? " (dry run)" : ""}\n`);
        if (wait === true && !dryRun) await untilReady(io, workspace, name, timeout);
      }),
    );
}

type UnregisterOptions = WorkspaceOptions & WaitFlags & Readonly<{ yes?: true }>;

function unregisterCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("unregister")
      .summary("take a cluster out of the workspace")
      .description("Unregisters a cluster: placements leave it. The cluster itself is not touched.")
      .addArgument(clusterArgument())
      .option("-y, --yes", "do not ask")
      .option("--wait", "wait until it is gone")
      .addOption(timeoutOption()),
  ).action((name: string, options: UnregisterOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const { metadata } = await findCluster(workspace, name);
      const users = (await workspace.placements()).filter(
        ({ status }) => status?.selectedClusters?.includes(name) === true,
      );
      const question = `Unregister ${name}? ${users.length === 0 ? "No placement uses" : `${users.length} of the placements use`} it.`;
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      const address = { type: resourceTypes.clusters, name };
      // The one that was asked about: another of the same name may have come meanwhile.
      await workspace.client.delete(address, { preconditions: { uid: metadata.uid } });
      if (options.wait === true) {
        await waitUntil(
          `cluster ${name} to go`,
          async () => {
            const present = (await workspace.clusters()).find((each) => each.metadata.uid === metadata.uid);
            if (present === undefined) return { done: true };
            return { missing: `finalizers ${present.metadata.finalizers?.join(", ") ?? "none"} are left` };
          },
          { limitMs: options.timeout * 1000, clock: io.clock },
        );
      }
      io.out(`${described}/${name} unregistered\n`);
    }),
  );
}

async function untilReady(io: CliIo, workspace: Workspace, name: string, timeoutSeconds: number): Promise<void> {
  await waitUntil(
    `cluster ${name} to be Ready`,
    async () => {
      const ready = findCondition((await workspace.cluster(name)).status?.conditions, "Ready");
      if (ready?.status === "True") return { done: true };
      return { missing: ready === undefined ? "no controller has looked at it" : `${ready.reason}: ${ready.message}` };
    },
    { limitMs: timeoutSeconds * 1000, clock: io.clock },
  );
  io.out(`${described}/${name} is Ready\n`);
}

type SecretReference = Readonly<{ namespace: string; name: string; key?: string }>;
type Taint = NonNullable<ClusterRegistration["spec"]["taints"]>[number];

function registrationOf(name: string, options: RegisterOptions): ClusterRegistration {
  const { location, label, capability = [], taint = [], kubeconfigSecret } = options;
  if (location.trim() === "") throw new UsageError("--location is empty: say where the cluster is");
  return {
    apiVersion: apiVersionOf(clusterRegistration),
    kind: "ClusterRegistration",
    metadata: { name, ...(label === undefined ? {} : { labels: { ...label } }) },
    spec: {
      location: location.trim(),
      ...(capability.length === 0 ? {} : { capabilities: capability.map((type) => ({ type, available: true })) }),
      ...(taint.length === 0 ? {} : { taints: taint }),
      ...(kubeconfigSecret === undefined ? {} : { credentials: { secretRef: kubeconfigSecret } }),
    },
  };
}

function collectTaint(text: string, before: readonly Taint[] = []): readonly Taint[] {
  try {
    const { taint, cluster } = parseSupposedTaint(text);
    if (cluster !== undefined) throw new Error(`taint "${text}": names a cluster; it is for the one being registered`);
    const { key, value, effect } = taint;
    return [...before, { key, ...(value === "" ? {} : { value }), effect }];
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

function parseSecretReference(text: string): SecretReference {
  const [namespace = "", name = "", key, ...rest] = text.split("/");
  if (namespace === "" || name === "" || key === "" || rest.length > 0) {
    throw new InvalidArgumentError("write namespace/name or namespace/name/key.");
  }
  return { namespace, name, ...(key === undefined ? {} : { key }) };
}
