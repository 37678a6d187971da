import { Command } from "commander";
import type { QueueStats } from "../../queue/queue-stats.ts";
import type { CliIo } from "../cli-io.ts";
import { formatDocument, formatTable, type Output, outputOption } from "../output.ts";
import { type QueueOptions, withQueueOptions, withSqs, workQueueUrl } from "./queue-options.ts";

const queueTitles: Readonly<Record<QueueStats["queue"], string>> = {
  work: "work",
  delay: "delay",
  deadLetters: "dead letters",
};

/** Creates the `queue` command group. */
export function queueCommand(io: CliIo): Command {
  return new Command("queue")
    .summary("Inspect the SQS queues: stats")
    .description("Inspect the SQS queues of a deployment on AWS.")
    .addCommand(statsCommand(io));
}

function statsCommand(io: CliIo): Command {
  return withQueueOptions(
    new Command("stats")
      .summary("Show how many messages are in the queues")
      .description(
        "Show how many messages are visible, in flight and delayed in each queue. The numbers of SQS are approximate. SQS reports the age of the oldest message only to CloudWatch.",
      )
      .addOption(outputOption(["table", "json", "yaml"])),
    ["delay", "dead-letters"],
  ).action((options: QueueOptions & Readonly<{ output: Output }>) => {
    const work = workQueueUrl(io, options);
    return withSqs(io, work, async (sqs) => {
      const { findQueues, readQueueStats } = await import("../../queue/queue-stats.ts");
      const found = await findQueues(sqs, { work, delay: options.delayQueueUrl, deadLetters: options.deadLettersUrl });
      const roles = (["work", "delay", "deadLetters"] as const).flatMap((queue) => {
        const url = found[queue];
        return url === undefined ? [] : [{ queue, url }];
      });
      const stats = await Promise.all(roles.map(({ queue, url }) => readQueueStats(sqs, queue, url)));
      const { output } = options;
      if (output === "json" || output === "yaml") io.out(formatDocument({ queues: stats }, output));
      else io.out(formatStats(stats));
    });
  });
}

function formatStats(stats: readonly QueueStats[]): string {
  return formatTable(
    ["QUEUE", "NAME", "VISIBLE", "IN FLIGHT", "DELAYED", "OLDEST"],
    stats.map(({ queue, name, visible, inFlight, delayed }) => [
      queueTitles[queue],
      name,
      ...[visible, inFlight, delayed].map(String),
      "unknown",
    ]),
  );
}
