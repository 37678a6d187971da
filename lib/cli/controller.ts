import { Command, Option } from "commander";
import {
  type ControllerConfig,
  type ControllerFlags,
  flagDefaults,
  parseControllerFlags,
} from "../controller/flags.ts";
import { closestMatch } from "../model/text.ts";
import { defaultTenantEventsPerSecond } from "../queue/tenant-rate-limit.ts";
import { sourceFlagDefaults } from "../sources/flags.ts";
import { sourceKinds } from "../sources/source-kinds.ts";
import { deletionGuardDefaults } from "../sync/eviction/deletion-guard-settings.ts";
import { type CliIo, UsageError } from "./cli-io.ts";

const examples = `
SIGTERM and Ctrl-C let it finish what is under way; a second one ends it at once.

Examples:
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-kubeconfigs east=east.kubeconfig,west=west.kubeconfig
  tmc controller --kcp-kubeconfig worker.kubeconfig --api-export root:tmc:tmc.kcp.io
  tmc controller --kcp-kubeconfig hub.kubeconfig --hub kubernetes --cluster-kubeconfigs none --crd database.yaml
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-source clusterregistration,synctarget --cluster-kubeconfig-secret-template clusters/{name}-kubeconfig
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production --cluster-kubeconfigs none \\
    --queue-url https://sqs.eu-west-1.amazonaws.com/123456789012/tmc-prod-work.fifo
`;

/** Texts as they were given: what is wrong with them is said together with all else that is. */
const gather = (text: string, before: readonly string[] = []): readonly string[] => [...before, text];

/** The command that runs the controller in one process. */
export function controllerCommand(io: CliIo): Command {
  const option = (flags: string, description: string): Option => new Option(flags, description);
  const withDefault = (flags: string, description: string, preset: string): Option =>
    option(flags, `${description} (default: ${preset})`);
  return (
    new Command("controller")
      .summary("run the controller against a kcp of your own")
      .description(
        "Runs the controller in this process: probes the registered clusters, decides placements, and writes both into the workspaces.",
      )
      .addOption(
        option(
          "--kcp-kubeconfig <path>",
          "the kubeconfig for kcp, or for the plain cluster that is the hub; it is read again every minute, and when the hub refuses it",
        ),
      )
      .addOption(
        option(
          "--workspace <path>",
          "a workspace such as root:production; several with commas, or given again",
        ).argParser(gather),
      )
      .addOption(
        option(
          "--api-export <workspace:name>",
          "in place of workspaces: every one that has bound this export, such as root:tmc:tmc.kcp.io",
        ),
      )
      .addOption(
        option(
          "--cluster-kubeconfigs <name=path,…>",
          "kubeconfigs by the name of the registered cluster; none when registrations name secrets",
        ).argParser(gather),
      )
      .addOption(
        withDefault(
          "--cluster-source <kind>",
          `what makes clusters known: ${sourceKinds.join(", ")}; several with commas, the first wins where two have the same name. ` +
            "All but the default are for workspaces that serve them, and for one controller: not with --api-export, --queue-url or --cluster-shard-id",
          sourceFlagDefaults.clusterSource,
        ).argParser(gather),
      )
      .addOption(
        option(
          "--cluster-namespace-scope <namespace>",
          "the namespaces whose control planes count; several with commas (otherwise all)",
        ).argParser(gather),
      )
      .addOption(
        option(
          "--cluster-kubeconfig-secret-template <[namespace/]name[:key]>",
          `in place of --cluster-kubeconfigs: the secret, in its own workspace, of a cluster that names no credentials, such as clusters/{name}-kubeconfig`,
        ),
      )
      .addOption(
        option(
          "--cluster-shard-id <id/count>",
          "look after a part of the clusters and placements only: 0/3, 1/3 and 2/3 for three controllers, all of which must run; or b/a,b,c by name",
        ),
      )
      .addOption(
        option(
          "--crd <file>",
          "a CustomResourceDefinition whose objects are workloads too; may be given several times. With --api-export the types that tmc bootstrap --crd has added are known without it; they are read when the controller starts",
        ).argParser(gather),
      )
      .addOption(withDefault("--hub <kind>", "kcp, or kubernetes for a plain cluster with our CRDs", flagDefaults.hub))
      .addOption(
        withDefault("--resync-period <duration>", "how often everything is looked at anew", flagDefaults.resyncPeriod),
      )
      .addOption(
        withDefault(
          "--worker-count <number>",
          "how many objects are worked on at once, besides workloads; with --queue-url of all kinds",
          flagDefaults.workerCount,
        ),
      )
      .addOption(
        withDefault(
          "--sync-worker-count <number>",
          "how many workloads are worked on at once, besides the others; they mostly wait for clusters",
          flagDefaults.syncWorkerCount,
        ),
      )
      .addOption(
        option(
          "--tenant-concurrency <number>",
          "how many of one tenant's objects are worked on at once (default: half of the workers of each kind where there can be several tenants)",
        ),
      )
      .addOption(
        option(
          "--tenant-share <percent>",
          "how much of the process's time one tenant has while others have something to do too (default: 10)",
        ),
      )
      .addOption(
        option(
          "--tenant-events-per-second <number>",
          `how many of one tenant's changes are queued in a second where there can be several tenants, 0 for any number (default: 0, with --queue-url ${defaultTenantEventsPerSecond})`,
        ),
      )
      .addOption(
        withDefault("--metrics-port <port>", "where /metrics is served; 0 takes a free one", flagDefaults.metricsPort),
      )
      .addOption(
        withDefault(
          "--health-port <port>",
          "where /healthz, /livez and /readyz are served; 0 takes a free one",
          flagDefaults.healthPort,
        ),
      )
      .addOption(
        withDefault(
          "--log-level <number>",
          "0 errors, 1 warnings, 2 a line per reconcile, 4 and more steps",
          flagDefaults.logLevel,
        ),
      )
      .addOption(
        withDefault(
          "--heartbeat-interval <duration>",
          "how often each cluster is probed",
          flagDefaults.heartbeatInterval,
        ),
      )
      .addOption(
        withDefault(
          "--max-deletions <number>",
          "how many copies of workloads may leave a cluster or a workspace at once before somebody is asked (tmc confirm)",
          deletionGuardDefaults.maxDeletions,
        ),
      )
      .addOption(
        withDefault(
          "--max-deletions-percent <number>",
          "the same as a share of all copies there, where more than ten leave; 100 for any share",
          deletionGuardDefaults.maxDeletionsPercent,
        ),
      )
      .addOption(
        option(
          "--allow-private-endpoints",
          "let tenants' secrets name clusters in private networks or on this machine; off, because such addresses may be yours and not theirs",
        ),
      )
      .addOption(
        option(
          "--queue-url <url>",
          "work from this SQS queue, with others who send to it and work on it, in place of one in memory",
        ),
      )
      .addOption(option("--delay-queue-url <url>", "its delay queue (otherwise the one of the same stage)"))
      .addOption(option("--dead-letters-url <url>", "its dead letters (otherwise what the work queue says)"))
      // So that what is not known is named together with all else that is wrong.
      .allowUnknownOption()
      .allowExcessArguments()
      .addHelpText("after", examples)
      .action(async (flags: ControllerFlags, command: Command) => {
        const config = parseFlags(flags, command);
        // Only now: what it takes to run would make every other command slow to start.
        const { runController } = await import("./run-controller.ts");
        await runController(io, config);
      })
  );
}

/** Checks the options; all that is wrong, unknown options included, is one error. */
function parseFlags(flags: ControllerFlags, command: Command): ControllerConfig {
  const problems = strangersOf(command);
  try {
    const config = parseControllerFlags(flags);
    if (problems.length === 0) return config;
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  }
  throw new UsageError(problems.join("; "));
}

function strangersOf({ args, options }: Command): string[] {
  const known = options.flatMap(({ long }) => long ?? []);
  const problems: string[] = [];
  for (const [at, word] of args.entries()) {
    if (word.startsWith("-")) {
      const [name = word] = word.split("=");
      const meant = closestMatch(name, known);
      problems.push(`${name} is not an option${meant === undefined ? "" : ` (did you mean ${meant}?)`}`);
    } else if (args[at - 1]?.startsWith("-") !== true || args[at - 1]?.includes("=") === true) {
      problems.push(`"${word}" is not expected`);
    }
  }
  return problems;
}
