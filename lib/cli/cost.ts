import { Command, InvalidArgumentError, Option } from "commander";
import { durationForm, parseDurationSeconds } from "../model/duration.ts";
import type { CliIo } from "./cli-io.ts";
import { type CostEstimate, estimateCost, prices } from "./cost-model.ts";
import { formatDocument, formatTable, type Output, outputOption } from "./output.ts";

type CostOptions = Readonly<{
  clusters: number;
  workloads: number;
  eventsPerSecond: number;
  heartbeat: number;
  secrets: number;
  output: Output;
}>;

/** The command that estimates what the deployed form costs. */
export function costCommand(io: CliIo): Command {
  return new Command("cost")
    .summary("estimate what the deployed form costs")
    .description(
      `Estimates what a month of the deployed form costs, beside two replicas of the same controller that are always on. List prices of ${prices.region} of ${prices.date}, free tiers left out; part of what it assumes was fitted and not measured.`,
    )
    .addOption(numberOption("--clusters <number>", "how many clusters are registered", 1_000_000).makeOptionMandatory())
    .addOption(
      numberOption("--events-per-second <number>", "changes of objects, on average", 100_000).makeOptionMandatory(),
    )
    .addOption(numberOption("--workloads <number>", "how many workloads are on clusters", 10_000_000).default(0))
    .addOption(
      new Option("--heartbeat <duration>", "how often each cluster is probed")
        .argParser(parseHeartbeat)
        .default(60, "60s"),
    )
    .addOption(numberOption("--secrets <number>", "kubeconfigs in Secrets Manager", 1_000_000).default(0))
    .addOption(outputOption(["table", "json", "yaml"]))
    .addHelpText("after", "\nExamples:\n  tmc cost --clusters 1000 --events-per-second 1 --heartbeat 60s\n")
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
    ["PART", "CALLS A MONTH", "DOLLARS A MONTH"],
    [...parts.map(row), row({ name: "total", calls, dollars })],
  );
  const compared = formatTable(
    ["ALWAYS ON, WITHOUT LOGS AND METRICS", "DOLLARS A MONTH"],
    alwaysOn.map((part) => [part.name, part.dollars.toFixed(2)]),
  );
  return `${deployed}\n${compared}`;
}

function numberOption(flags: string, description: string, most: number): Option {
  return new Option(flags, description).argParser((text: string) => {
    const value = Number(text);
    if (text.trim() === "" || !(value >= 0 && value <= most)) {
      throw new InvalidArgumentError(`write a number from 0 to ${most}.`);
    }
    return value;
  });
}

function parseHeartbeat(text: string): number {
  const seconds = parseDurationSeconds(text);
  if (seconds === undefined || seconds < 1) throw new InvalidArgumentError(`write ${durationForm}, from 1s on.`);
  return seconds;
}
