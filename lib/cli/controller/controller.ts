import { Command, Option } from "commander";
import {
  type ControllerConfig,
  type ControllerFlags,
  flagDefaults,
  parseControllerFlags,
} from "../../controller/flags.ts";
import { closestMatch } from "../../model/text.ts";
import { defaultTenantEventsPerSecond } from "../../queue/tenant-rate-limit.ts";
import { sourceFlagDefaults } from "../../sources/flags.ts";
import { sourceKinds } from "../../sources/source-kinds.ts";
import { deletionGuardDefaults } from "../../sync/eviction/deletion-guard-settings.ts";
import { type CliIo, UsageError } from "../cli-io.ts";

const examples = `
After SIGTERM or Ctrl-C the controller finishes the running reconciles; a second
signal ends it immediately.

Examples:
  # Serve one workspace, with kubeconfig files for its clusters
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-kubeconfigs east=east.kubeconfig,west=west.kubeconfig

  # Serve all workspaces that bind an APIExport
  tmc controller --kcp-kubeconfig worker.kubeconfig \\
    --api-export root:tmc:tmc.kcp.io

  # Use a plain Kubernetes cluster instead of kcp, and sync a custom resource
  tmc controller --kcp-kubeconfig hub.kubeconfig --hub kubernetes \\
    --cluster-kubeconfigs none --crd database.yaml

  # Read clusters from SyncTargets too
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-source clusterregistration,synctarget \\
    --cluster-kubeconfig-secret-template clusters/{name}-kubeconfig

  # Share the work with other controllers through SQS
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-kubeconfigs none \\
    --queue-url https://sqs.eu-west-1.amazonaws.com/123456789012/tmc.fifo

  # Run two of these; one works, and the other takes over if it ends
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-kubeconfigs none \\
    --leader-elect --leader-elect-kubeconfig host.kubeconfig
`;

/** Collects the values of a repeatable option without validation, so that one error can list everything that is invalid. */
const collect = (text: string, previous: readonly string[] = []): readonly string[] => [...previous, text];

/** Creates the `controller` command. */
export function controllerCommand(io: CliIo): Command {
  const command = new Command("controller")
    .summary("Run the controller")
    .description(
      "Run the controller in this process. It probes the registered clusters, decides placements, and synchronizes workloads and their status between the kcp workspaces and the clusters.",
    )
    // parseFlags reports unknown options together with invalid values.
    .allowUnknownOption()
    .allowExcessArguments()
    .addHelpText("after", examples)
    .action(async (flags: ControllerFlags, self: Command) => {
      const config = parseFlags(flags, self);
      // Imported on demand, because loading the controller would slow the start of every other command.
      const { runController } = await import("./run-controller.ts");
      await runController(io, config);
    });
  const options = [
    ...upstreamOptions(),
    ...clusterOptions(),
    ...typeOptions(),
    ...workerOptions(),
    ...observabilityOptions(),
    ...safetyOptions(),
    ...queueOptions(),
    ...leaderElectionOptions(),
  ];
  for (const each of options) command.addOption(each);
  return command;
}

const option = (flags: string, description: string): Option => new Option(flags, description);
const withDefault = (flags: string, description: string, preset: string): Option =>
  option(flags, `${description} (default: ${preset})`);

/** Options that select the upstream server and its workspaces. */
function upstreamOptions(): readonly Option[] {
  return [
    option(
      "--kcp-kubeconfig <path>",
      "Path to the kubeconfig for kcp, or for a plain Kubernetes cluster with --hub kubernetes; it is read again every minute and when the server rejects its credentials",
    ),
    option(
      "--workspace <path>",
      "Path of a workspace to serve, such as root:production; can be repeated or comma-separated",
    ).argParser(collect),
    option(
      "--api-export <workspace:name>",
      "APIExport whose tenant workspaces are all served, such as root:tmc:tmc.kcp.io; instead of --workspace",
    ),
  ];
}

/** Options that select the clusters and their credentials. */
function clusterOptions(): readonly Option[] {
  return [
    option(
      "--cluster-kubeconfigs <[workspace/]name=path,…>",
      "Kubeconfig files by cluster name, or none if the registrations refer to Secrets; with several workspaces each name needs its workspace, such as root:team/east=east.kubeconfig, because any workspace can register a cluster of that name",
    ).argParser(collect),
    withDefault(
      "--cluster-source <kind>",
      `Kinds of objects that define clusters: ${sourceKinds.join(", ")}; can be repeated or comma-separated. If two sources define a cluster of the same name, the first source wins. ` +
        "Sources other than the default require workspaces that serve these kinds, and cannot be combined with --api-export, --queue-url or --cluster-shard-id",
      sourceFlagDefaults.clusterSource,
    ).argParser(collect),
    option(
      "--cluster-namespace-scope <namespace>",
      "Namespace from which control planes are read; can be repeated or comma-separated (default: all namespaces)",
    ).argParser(collect),
    option(
      "--cluster-kubeconfig-secret-template <[namespace/]name[:key]>",
      "Secret with the kubeconfig of a cluster that has no credentials of its own, in the workspace of the cluster, such as clusters/{name}-kubeconfig; instead of --cluster-kubeconfigs",
    ),
    option(
      "--cluster-shard-id <id/count>",
      "Shard of the clusters and placements that this controller serves: 0/3, 1/3 or 2/3 with three controllers, or by name, such as b/a,b,c. All shards must run",
    ),
  ];
}

/** Options about the kind of the upstream server and its custom resources. */
function typeOptions(): readonly Option[] {
  return [
    option(
      "--crd <file>",
      "Path to a CustomResourceDefinition whose objects are synchronized as workloads; can be repeated. With --api-export, the controller reads the types that tmc bootstrap --crd added from the APIExport",
    ).argParser(collect),
    withDefault(
      "--hub <kind>",
      "Kind of the upstream server: kcp, or kubernetes for a plain cluster with TMC's CRDs",
      flagDefaults.hub,
    ),
    withDefault(
      "--hub-controllers <mode>",
      "With --hub kubernetes: detect refuses a cluster whose own controllers run workloads, because each workload would run there too; ignore skips this check, for a cluster whose workload controllers are turned off",
      flagDefaults.hubControllers,
    ),
    option(
      "--hub-id <id>",
      "Id of the upstream server in the names of downstream namespaces and in owner annotations; it keeps several control planes on one cluster apart (default: the id that the server stores in the ConfigMap tmc-system/tmc-hub since the first start). With this option, a restored copy of the server is not detected",
    ),
  ];
}

/** Options that limit concurrency, for the whole process and per tenant. */
function workerOptions(): readonly Option[] {
  return [
    withDefault(
      "--resync-period <duration>",
      "Interval between full reconciles of all objects",
      flagDefaults.resyncPeriod,
    ),
    withDefault(
      "--worker-count <number>",
      "Number of concurrent reconciles of clusters and placements; with --queue-url, of all objects",
      flagDefaults.workerCount,
    ),
    withDefault(
      "--sync-worker-count <number>",
      "Number of concurrent reconciles of workloads, which mostly wait for responses of clusters",
      flagDefaults.syncWorkerCount,
    ),
    option(
      "--tenant-concurrency <number>",
      "Maximum number of concurrent reconciles per tenant (default: half of the workers of each kind, if there can be several tenants)",
    ),
    option(
      "--tenant-share <percent>",
      "Maximum share of the CPU time of this process that a tenant gets while other tenants have work (default: 10)",
    ),
    option(
      "--tenant-events-per-second <number>",
      `Maximum number of changes per second and tenant that are enqueued, if there can be several tenants; 0 means no limit (default: 0, with --queue-url ${defaultTenantEventsPerSecond})`,
    ),
  ];
}

function observabilityOptions(): readonly Option[] {
  return [
    withDefault("--metrics-port <port>", "Port of /metrics; 0 selects a free port", flagDefaults.metricsPort),
    withDefault(
      "--health-port <port>",
      "Port of /healthz, /livez and /readyz; 0 selects a free port",
      flagDefaults.healthPort,
    ),
    withDefault(
      "--log-level <number>",
      "Verbosity of the log: 0 errors, 1 warnings, 2 one line per reconcile, 4 and higher single steps",
      flagDefaults.logLevel,
    ),
    option(
      "--log-format <format>",
      "Format of the log lines: text or json (default: text on a terminal, otherwise json)",
    ),
  ];
}

/** Options about probes, the deletion guard and endpoints of tenants. */
function safetyOptions(): readonly Option[] {
  return [
    withDefault(
      "--heartbeat-interval <duration>",
      "Interval between the probes of a cluster",
      flagDefaults.heartbeatInterval,
    ),
    withDefault(
      "--max-deletions <number>",
      "Maximum number of copies that are deleted from a cluster or for a workspace at once; the deletion guard holds more until tmc confirm",
      deletionGuardDefaults.maxDeletions,
    ),
    withDefault(
      "--max-deletions-percent <number>",
      "Same limit as a percentage of all copies, applied to more than ten deletions; 100 means no limit",
      deletionGuardDefaults.maxDeletionsPercent,
    ),
    option(
      "--allow-endpoints <cidr,…>",
      "Address ranges that kubeconfigs of tenants may refer to in addition to public addresses, such as 10.20.0.0/16; can be repeated or comma-separated. Metadata addresses stay rejected",
    ).argParser(collect),
    option(
      "--allow-private-endpoints",
      "Allow kubeconfigs of tenants to refer to private or local addresses, which are rejected by default because they could reach the operator's network",
    ),
  ];
}

/** Options of an SQS queue that is shared with other controllers. */
function queueOptions(): readonly Option[] {
  return [
    option(
      "--queue-url <url>",
      "URL of an SQS work queue that is shared with other controllers, instead of a queue in memory",
    ),
    option("--delay-queue-url <url>", "URL of the delay queue (default: the delay queue of the same stage)"),
    option(
      "--dead-letters-url <url>",
      "URL of the dead-letter queue (default: the one in the redrive policy of the work queue)",
    ),
  ];
}

/** Options of several controllers of which one at a time works. */
function leaderElectionOptions(): readonly Option[] {
  return [
    option(
      "--leader-elect",
      "Work only while this process holds a Lease; other replicas wait, and one of them takes over when the Lease is released or expires",
    ),
    option(
      "--leader-elect-kubeconfig <path>",
      "Kubeconfig of the cluster with the Lease (default: the cluster in which the controller runs as a pod)",
    ),
    option(
      "--leader-elect-resource-namespace <namespace>",
      "Namespace of the Lease (default: the namespace of the pod or of the kubeconfig)",
    ),
    option(
      "--leader-elect-resource-name <name>",
      `Name of the Lease (default: ${flagDefaults.leaderElectResourceName}, with the shard appended if there is one)`,
    ),
    withDefault(
      "--leader-elect-lease-duration <duration>",
      "Time after which another replica takes over if the Lease is not renewed; it is renewed every 2/15 of that time, and the process ends if it cannot renew it for 2/3 of that time",
      flagDefaults.leaderElectLeaseDuration,
    ),
  ];
}

/** Validates the options; one error lists everything that is invalid, including unknown options. */
function parseFlags(flags: ControllerFlags, command: Command): ControllerConfig {
  const errors = unexpectedArguments(command);
  try {
    const config = parseControllerFlags(flags);
    if (errors.length === 0) return config;
  } catch (error) {
    errors.push(error instanceof Error ? error.message : String(error));
  }
  throw new UsageError(errors.join("; "));
}

function unexpectedArguments({ args, options }: Command): string[] {
  const known = options.flatMap(({ long }) => long ?? []);
  const errors: string[] = [];
  for (const [at, argument] of args.entries()) {
    if (argument.startsWith("-")) {
      const [name = argument] = argument.split("=");
      const similar = closestMatch(name, known);
      errors.push(`unknown option ${name}${similar === undefined ? "" : ` (did you mean ${similar}?)`}`);
    } else if (args[at - 1]?.startsWith("-") !== true || args[at - 1]?.includes("=") === true) {
      errors.push(`unexpected argument "${argument}"`);
    }
  }
  return errors;
}
