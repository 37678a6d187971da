import { Command, InvalidArgumentError, Option } from "commander";
import { durationForm, parseDurationSeconds } from "../../model/timestamp.ts";
import type { CliIo } from "../cli-io.ts";
import { formatDocument, formatTable, type Output, outputOption } from "../output.ts";
import { type CostEstimate, estimateCost, prices } from "./cost-model.ts";

type CostOptions = Readonly<{
  clusters: number;
  workloads: number;
  eventsPerSecond: number;
  heartbeat: number;
  secrets: number;
  output: Output;
}>;

/** Creates the `cost` command. */
export function costCommand(io: CliIo): Command {
  return new Command("cost")
    .summary("Estimate the monthly cost on AWS")
    .description(
      `Estimate the monthly cost of a deployment on AWS, compared with two replicas of the controller that run permanently. The estimate uses the list prices of ${prices.region} from ${prices.date} without free tiers; some of its assumptions are fitted, not measured.`,
    )
    .addOption(numberOption("--clusters <number>", "Number of registered clusters", 1_000_000).makeOptionMandatory())
    .addOption(
      numberOption(
        "--events-per-second <number>",
        "Average number of object changes per second",
        100_000,
      ).makeOptionMandatory(),
    )
    .addOption(numberOption("--workloads <number>", "Number of placed workloads", 10_000_000).default(0))
    .addOption(
      new Option("--heartbeat <duration>", "Interval between the probes of a cluster")
        .argParser(parseHeartbeat)
        .default(60, "60s"),
    )
    .addOption(numberOption("--secrets <number>", "Number of kubeconfigs in AWS Secrets Manager", 1_000_000).default(0))
    .addOption(outputOption(["table", "json", "yaml"]))
    .addHelpText(
      "after",
      "\nExamples:\n  # Estimate the cost for 1000 clusters and one change per second\n  tmc cost --clusters 1000 --events-per-second 1 --heartbeat 60s\n",
    )
    .action(({ clusters, workloads, eventsPerSecond, heartbeat, secrets, output }: CostOptions) => {
      const estimate = estimateCost({ clusters, workloads, eventsPerSecond, heartbeatSeconds: heartbeat, secrets });
      if (output === "json" || output === "yaml") {
        io.out(formatDocument({ prices: { date: prices.date, region: prices.region }, ...estimate }, output));
      } else io.out(formatEstimate(estimate));
    });
}

function formatEstimate({ parts, dollars, alwaysOn }: CostEstimate): string {
  const row = (part: Readonly<{ name: string; calls: number; dollars: number }>): readonly string[] => [
    part.name,
    Math.round(part.calls).toLocaleString("en-US"),
    part.dollars.toFixed(2),
  ];
  const calls = parts.reduce((sum, part) => sum + part.calls, 0);
  const deployed = formatTable(
    ["COMPONENT", "CALLS/MONTH", "USD/MONTH"],
    [...parts.map(row), row({ name: "total", calls, dollars })],
  );
  const compared = formatTable(
    ["ALWAYS ON (WITHOUT LOGS AND METRICS)", "USD/MONTH"],
    alwaysOn.map((part) => [part.name, part.dollars.toFixed(2)]),
  );
  return `${deployed}\n${compared}`;
}

function numberOption(flags: string, description: string, max: number): Option {
  return new Option(flags, description).argParser((text: string) => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= 0 && value <= max)) {
      throw new InvalidArgumentError(`expected a number from 0 to ${max}.`);
    }
    return value;
  });
}

function parseHeartbeat(text: string): number {
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined || seconds < 1) throw new InvalidArgumentError(`expected ${durationForm} of at least 1s.`);
  return seconds;
}
