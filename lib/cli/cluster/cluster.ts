import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { Command, InvalidArgumentError } from "commander";
import { type ClusterRegistration, clusterRegistration } from "../../api/cluster-registration.ts";
import { credentialsSecretLabel, credentialsSecretType } from "../../api/condition.ts";
import { formatApiVersion } from "../../api/kind.ts";
import { referenceTypes } from "../../api/workload-kinds.ts";
import { waitUntil } from "../../install/wait.ts";
import { parseHypotheticalTaint } from "../../placement/what-if.ts";
import { type CliIo, confirmDeletion, UsageError } from "../cli-io.ts";
import { type ListFlags, printList, withListOptions } from "../list.ts";
import { collectLabel, collectList } from "../names.ts";
import {
  clusterArgument,
  type DryRun,
  dryRunOption,
  dryRunText,
  findRegistration,
  timeoutOption,
  type WaitFlags,
} from "../options.ts";
import { asManifest, type Output, outputOption, printObject } from "../output.ts";
import {
  inWorkspace,
  type OpenWorkspace,
  resourceTypes,
  type WorkspaceOptions,
  withWorkspaceOptions,
} from "../workspace.ts";
import { acceptIdentityCommand } from "./accept-identity.ts";
import { clusterTable, describeCluster } from "./cluster-view.ts";
import { cordonCommand, drainCommand, uncordonCommand } from "./drain.ts";
import { joinCommand, waitUntilReady } from "./join.ts";

type OutputOptions = WorkspaceOptions & Readonly<{ output: Output }>;
const resourceName = "clusterregistration.tmc.kcp.io";

/** Creates the `cluster` command group. */
export function clusterCommand(io: CliIo): Command {
  return new Command("cluster")
    .summary(
      "Manage registered clusters: list, join, register, unregister, status, cordon, uncordon, drain, accept-identity",
    )
    .description("Manage the clusters that are registered in a workspace.")
    .addCommand(listCommand(io))
    .addCommand(joinCommand(io))
    .addCommand(registerCommand(io))
    .addCommand(unregisterCommand(io))
    .addCommand(statusCommand(io))
    .addCommand(cordonCommand(io))
    .addCommand(uncordonCommand(io))
    .addCommand(drainCommand(io))
    .addCommand(acceptIdentityCommand(io));
}

function listCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    withListOptions(new Command("list").alias("ls").summary("List the registered clusters")),
  ).action((options: WorkspaceOptions & ListFlags) =>
    inWorkspace(io, options, (workspace) =>
      printList(io, options, {
        ifEmpty: options.selector === undefined ? "No clusters are registered.\n" : "No clusters match the selector.\n",
        read: async () => {
          const clusters = await workspace.registrations(options.selector);
          return { objects: clusters, table: (wide) => clusterTable(clusters, { wide, nowMs: io.clock.now() }) };
        },
      }),
    ),
  );
}

function statusCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("status")
      .alias("describe")
      .summary("Show the details of a cluster")
      .addArgument(clusterArgument())
      .addOption(outputOption(["table", "json", "yaml"])),
  ).action((name: string, options: OutputOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const registration = await findRegistration(workspace, name);
      const text = async (): Promise<string> => {
        const [placements, registrations] = await Promise.all([workspace.placements(), workspace.registrations()]);
        return describeCluster(registration, { placements, registrations, nowMs: io.clock.now() });
      };
      await printObject(io, registration, { output: options.output, text });
    }),
  );
}

type RegisterOptions = OutputOptions &
  WaitFlags &
  Readonly<{
    location: string;
    label?: Readonly<Record<string, string>>;
    capability?: readonly string[];
    taint?: readonly Taint[];
    kubeconfigSecret?: SecretReference;
    dryRun?: DryRun;
  }>;

function registerCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("register")
      .summary("Register a cluster")
      .description(
        "Register a cluster. The controller connects with the kubeconfig from --kubeconfig-secret, or else with the one that the controller is configured with for this cluster name.",
      )
      .addArgument(clusterArgument())
      .requiredOption("--location <location>", "Location of the cluster, such as us-west-2")
      .option("--label <key=value>", "Label of the registration, for selectors; can be repeated", collectLabel)
      .option(
        "--capability <type>",
        "Capability of the cluster, such as gpu; can be repeated or comma-separated",
        collectList,
      )
      .option(
        "--taint <key[=value]:effect>",
        "Taint of the cluster, such as gpu=true:NoSchedule; can be repeated",
        collectTaint,
      )
      .option(
        "--kubeconfig-secret <namespace/name>",
        `Secret that contains the kubeconfig of the cluster; append /key if its key is not kubeconfig. The command adds the label ${credentialsSecretLabel}, which allows its use`,
        parseSecretReference,
      )
      .addOption(dryRunOption("registration"))
      .option("--wait", "Wait until the cluster is Ready")
      .addOption(timeoutOption())
      .addOption(outputOption(["table", "json", "yaml"])),
  )
    .addHelpText(
      "after",
      `
Examples:
  # Register a cluster for which the controller has a kubeconfig
  tmc cluster register east --location us-east-1 \\
    --label region=us-east --capability compute

  # Register a cluster with a kubeconfig from a Secret, and wait until it is
  # Ready
  tmc cluster register gpu-1 --location eu-central-1 \\
    --kubeconfig-secret clusters/gpu-1 --wait
`,
    )
    .action((name: string, options: RegisterOptions) => register(io, name, options));
}

async function register(io: CliIo, name: string, options: RegisterOptions): Promise<void> {
  const { output, dryRun, wait, timeout, kubeconfigSecret } = options;
  const manifest = newRegistration(name, options);
  const print = (registration: ClusterRegistration): Promise<void> =>
    printObject(io, dryRun === undefined ? registration : asManifest(registration), {
      output,
      text: () => `${resourceName}/${name} registered${dryRunText(dryRun)}\n`,
    });
  if (dryRun === "client") return print(manifest);
  await inWorkspace(io, options, async (workspace) => {
    if (kubeconfigSecret !== undefined && dryRun === undefined) await allowUse(io, workspace, name, kubeconfigSecret);
    const created = await workspace.client
      .create<ClusterRegistration>({ type: resourceTypes.registrations }, manifest, {
        dryRun: dryRun !== undefined,
        fieldManager: "tmc-cli",
        fieldValidation: "Strict",
      })
      .catch((error: unknown) => {
        if (faultOf(error) !== "exists") throw error;
        throw new Error(`cluster "${name}": already registered`, { cause: error });
      });
    await print(created);
    if (wait === true && dryRun === undefined) await waitUntilReady(io, workspace, name, timeout);
  });
}

/** Labels the Secret, so that TMC may use it for the registration. */
async function allowUse(
  io: CliIo,
  { client }: OpenWorkspace,
  registration: string,
  { namespace, name }: SecretReference,
): Promise<void> {
  const where = `Secret ${namespace}/${name}`;
  const labels = { [credentialsSecretLabel]: registration };
  try {
    const secret = await client.get<KubeObject>({ type: referenceTypes.Secret, namespace, name });
    if (secret.type === credentialsSecretType || secret.metadata.labels?.[credentialsSecretLabel] === registration)
      return;
    await client.patch(
      { type: referenceTypes.Secret, namespace, name },
      { type: "merge", body: { metadata: { labels } } },
      { fieldManager: "tmc-cli" },
    );
    io.out(`secret/${name} labeled\n`);
  } catch (error) {
    const fault = faultOf(error);
    if (fault === "not-found") {
      io.err(`${where} does not exist. Create it with the label ${credentialsSecretLabel}=${registration}.\n`);
    } else if (fault === "forbidden") {
      io.err(
        `${where} cannot be read or labeled with your credentials. TMC uses it only with the label ` +
          `${credentialsSecretLabel}=${registration}; ask its owner to add the label.\n`,
      );
    } else {
      throw error;
    }
  }
}

type UnregisterOptions = WorkspaceOptions & WaitFlags & Readonly<{ yes?: true }>;

function unregisterCommand(io: CliIo): Command {
  return withWorkspaceOptions(
    new Command("unregister")
      .summary("Unregister a cluster")
      .description("Unregister a cluster. Placements no longer select it; the cluster itself is not changed.")
      .addArgument(clusterArgument())
      .option("-y, --yes", "Do not ask for confirmation")
      .option("--wait", "Wait until the registration is deleted")
      .addOption(timeoutOption()),
  ).action((name: string, options: UnregisterOptions) =>
    inWorkspace(io, options, async (workspace) => {
      const { metadata } = await findRegistration(workspace, name);
      const selecting = (await workspace.placements()).filter(
        ({ status }) => status?.selectedClusters?.includes(name) === true,
      );
      const question = `Unregister ${name}? ${placementText(selecting.length)}.`;
      if (!(await confirmDeletion(io, { yes: options.yes === true, question }))) return;
      const address = { type: resourceTypes.registrations, name };
      // The uid pins the registration that the question was about; a new one may have the same name.
      await workspace.client.delete(address, { preconditions: { uid: metadata.uid } });
      if (options.wait === true) {
        await waitUntil(
          `cluster ${name} to be deleted`,
          async () => {
            const present = (await workspace.registrations()).find((each) => each.metadata.uid === metadata.uid);
            if (present === undefined) return { done: true };
            return { missing: `remaining finalizers: ${present.metadata.finalizers?.join(", ") ?? "none"}` };
          },
          { timeoutMs: options.timeout * 1000, clock: io.clock },
        );
      }
      io.out(`${resourceName}/${name} unregistered\n`);
    }),
  );
}

function placementText(count: number): string {
  if (count === 0) return "No placement selects it";
  return count === 1 ? "1 placement selects it" : `${count} placements select it`;
}

type SecretReference = Readonly<{ namespace: string; name: string; key?: string }>;
type Taint = NonNullable<ClusterRegistration["spec"]["taints"]>[number];

function newRegistration(name: string, options: RegisterOptions): ClusterRegistration {
  const { location, label, capability = [], taint = [], kubeconfigSecret } = options;
  if (location.trim() === "") throw new UsageError("--location must not be empty");
  return {
    apiVersion: formatApiVersion(clusterRegistration),
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

function collectTaint(text: string, previous: readonly Taint[] = []): readonly Taint[] {
  try {
    // `@cluster`, which a hypothetical taint may have, is no part of a taint.
    if (text.includes("@")) throw new Error("names a cluster");
    const { key, value, effect } = parseHypotheticalTaint(text).taint;
    return [...previous, { key, ...(value === "" ? {} : { value }), effect }];
  } catch {
    throw new InvalidArgumentError(
      "expected key=value:effect or key:effect; the effects are NoSchedule, PreferNoSchedule and NoExecute.",
    );
  }
}

function parseSecretReference(text: string): SecretReference {
  const [namespace = "", name = "", key, ...rest] = text.split("/");
  if (namespace === "" || name === "" || key === "" || rest.length > 0) {
    throw new InvalidArgumentError("expected namespace/name or namespace/name/key.");
  }
  return { namespace, name, ...(key === undefined ? {} : { key }) };
}
