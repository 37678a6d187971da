import { Command, Option } from "commander";
import {
  type ControllerConfig,
  type ControllerFlags,
  flagDefaults,
  parseControllerFlags,
} from "../controller/options.ts";
import { type CliIo, UsageError } from "./cli-io.ts";
import { similarWord } from "./similar.ts";

const examples = `
SIGTERM and Ctrl-C let it finish what is under way; a second one ends it at once.

Examples:
  tmc controller --kcp-kubeconfig kcp.kubeconfig --workspace root:production \\
    --cluster-kubeconfigs east=east.kubeconfig,west=west.kubeconfig
  tmc controller --kcp-kubeconfig worker.kubeconfig --api-export root:tmc:tmc.kcp.io
  tmc controller --kcp-kubeconfig hub.kubeconfig --hub kubernetes --cluster-kubeconfigs none
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
      .addOption(option("--kcp-kubeconfig <path>", "the kubeconfig for kcp, or for the plain cluster that is the hub"))
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
      .addOption(withDefault("--hub <kind>", "kcp, or kubernetes for a plain cluster with our CRDs", flagDefaults.hub))
      .addOption(
        withDefault("--resync-period <duration>", "how often everything is looked at anew", flagDefaults.resyncPeriod),
      )
      .addOption(
        withDefault("--worker-count <number>", "how many objects are worked on at once", flagDefaults.workerCount),
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
      const meant = similarWord(name, known);
      problems.push(`${name} is not an option${meant === undefined ? "" : ` (did you mean ${meant}?)`}`);
    } else if (args[at - 1]?.startsWith("-") !== true || args[at - 1]?.includes("=") === true) {
      problems.push(`"${word}" is not expected`);
    }
  }
  return problems;
}
