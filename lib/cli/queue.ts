import { Command } from "commander";
import type { QueueStats } from "../queue/queue-stats.ts";
import type { CliIo } from "./cli-io.ts";
import { formatDocument, formatTable, type Output, outputOption } from "./output.ts";
import { type QueueOptions, withQueueOptions, withSqs, workQueueOf } from "./queue-options.ts";

const shownNames: Readonly<Record<QueueStats["queue"], string>> = {
  work: "work",
  delay: "delay",
  deadLetters: "dead letters",
};

/** The commands about the queues of the deployed form. */
export function queueCommand(io: CliIo): Command {
  return new Command("queue")
    .summary("the queues of the deployed form: stats")
    .description("Looks at the queues that the deployed form works with.")
    .addCommand(statsCommand(io));
}

function statsCommand(io: CliIo): Command {
  return withQueueOptions(
    new Command("stats")
      .summary("say how much is in the queues")
      .description(
        "Says how many messages wait, are worked on, and wait for their time. SQS counts by sampling, and tells the age of the oldest message to CloudWatch only.",
      )
      .addOption(outputOption(["table", "json", "yaml"])),
    ["delay", "dead-letters"],
  ).action((options: QueueOptions & Readonly<{ output: Output }>) => {
    const work = workQueueOf(io, options);
    return withSqs(io, work, async (sqs) => {
      const { findQueues, readQueueStats } = await import("../queue/queue-stats.ts");
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
      shownNames[queue],
      name,
      ...[visible, inFlight, delayed].map(String),
      "unknown",
    ]),
  );
}
