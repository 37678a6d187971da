import { Command, InvalidArgumentError, Option } from "commander";
import { formatKey, parseWorkKey, type WorkKey } from "../../model/key.ts";
import type { DeadLetter, DeadLetters } from "../../queue/dead-letters.ts";
import type { SqsClient } from "../../queue/sqs-client.ts";
import { type CliIo, confirmDeletion, UsageError } from "../cli-io.ts";
import { formatAge, formatDocument, formatTable, type Output, outputOption } from "../output.ts";

import { type QueueOptions, withQueueOptions, withSqs, workQueueUrl } from "./queue-options.ts";

/** Creates the `deadletters` command group. */
export function deadLettersCommand(io: CliIo): Command {
  return new Command("deadletters")
    .summary("Inspect and redrive dead letters: list, redrive")
    .description(
      "Inspect and redrive dead letters. A key becomes a dead letter after an unexpected error, or when the process that reconciles it crashes repeatedly.",
    )
    .addCommand(listCommand(io))
    .addCommand(redriveCommand(io));
}

type ListOptions = QueueOptions & Readonly<{ output: Output; limit: number }>;

function listCommand(io: CliIo): Command {
  return withQueueOptions(
    new Command("list")
      .alias("ls")
      .summary("List the dead letters with their causes")
      .addOption(
        new Option("--limit <number>", "Maximum number of dead letters to list").argParser(parseLimit).default(100),
      )
      .addOption(outputOption(["table", "json", "yaml"])),
    ["dead-letters"],
  ).action((options: ListOptions) =>
    withDeadLetters(io, options, async ({ deadLetters }) => {
      const { output, limit } = options;
      const { letters, isComplete } = await deadLetters.list({ limit });
      if (output === "json" || output === "yaml")
        io.out(formatDocument({ letters: letters.map(deadLetterDocument), isAll: isComplete }, output));
      else if (letters.length === 0) io.err("No dead letters found.\n");
      else io.out(formatDeadLetters(letters, io.clock.now()));
      if (!isComplete) io.err(`tmc: the list is limited to ${limit} dead letters; use --limit to show more\n`);
    }),
  );
}

type RedriveOptions = QueueOptions & Readonly<{ key?: WorkKey; all?: true; yes?: true }>;

function redriveCommand(io: CliIo): Command {
  return withQueueOptions(
    new Command("redrive")
      .summary("Send dead letters back to the work queue")
      .description(
        "Send the keys of dead letters back to the work queue, with their failure count reset. Unreadable messages stay in the dead-letter queue.",
      )
      .addOption(new Option("--key <key>", "Key to send, as printed by tmc deadletters list").argParser(parseKeyText))
      .option("--all", "Send all dead letters")
      .option("-y, --yes", "Do not ask for confirmation"),
    ["dead-letters"],
  )
    .addHelpText(
      "after",
      `
Examples:
  # Send one dead letter back to the work queue
  tmc deadletters redrive --queue-url $URL --key '1k2x|ClusterRegistration/east'

  # Send all dead letters back to the work queue
  tmc deadletters redrive --queue-url $URL --all
`,
    )
    .action((options: RedriveOptions) => {
      const { key, all = false, yes = false } = options;
      if ((key === undefined) === !all) throw new UsageError("exactly one of --key and --all is required");
      return withDeadLetters(io, options, async ({ deadLetters, count }) => {
        if (all) {
          const question = `Send all dead letters back to the work queue (about ${await count()})?`;
          if (!(await confirmDeletion(io, { yes, question }))) return;
        }
        const showsProgress = io.terminal !== undefined;
        const { sent, remaining } = await deadLetters.redrive({
          key,
          onProgress: (progress) => {
            if (showsProgress) io.err(`${progress.sent} sent, ${progress.remaining} skipped so far\n`);
          },
        });
        if (key !== undefined && sent === 0) throw new Error(`${formatKey(key)}: no such dead letter`);
        io.out(`${sent} ${sent === 1 ? "key" : "keys"} sent to the work queue\n`);
        if (all && remaining > 0)
          io.err(`tmc: ${remaining} dead letters remain: they are unreadable, or arrived during the redrive\n`);
      });
    });
}

type OpenDeadLetters = Readonly<{ deadLetters: DeadLetters; count: () => Promise<number> }>;

async function withDeadLetters(
  io: CliIo,
  options: QueueOptions,
  work: (opened: OpenDeadLetters) => Promise<void>,
): Promise<void> {
  const url = workQueueUrl(io, options);
  await withSqs(io, url, async (sqs: SqsClient) => {
    const [{ createDeadLetters }, { findDeadLetters, readQueueStats }] = await Promise.all([
      import("../../queue/dead-letters.ts"),
      import("../../queue/queue-stats.ts"),
    ]);
    const deadLettersUrl = options.deadLettersUrl ?? (await findDeadLetters(sqs, url));
    if (deadLettersUrl === undefined) {
      throw new UsageError("the work queue has no redrive policy; set --dead-letters-url");
    }
    await work({
      deadLetters: createDeadLetters({ sqs, urls: { work: url, deadLetters: deadLettersUrl }, clock: io.clock }),
      count: async () => (await readQueueStats(sqs, "deadLetters", deadLettersUrl)).visible,
    });
  });
}

function formatDeadLetters(letters: readonly DeadLetter[], nowMs: number): string {
  return formatTable(
    ["KEY", "AGE", "FAILURES", "RECEIVES", "CAUSE"],
    letters.map(({ key, atMs, attempts, receives, cause }) => [
      key === undefined ? "<unreadable>" : formatKey(key),
      formatAge(nowMs - atMs),
      Object.entries(attempts)
        .map(([sort, count]) => `${sort} ${count}`)
        .join(", "),
      String(receives),
      cause,
    ]),
  );
}

/** Returns a dead letter as a document for programs. */
function deadLetterDocument({ messageId, key, atMs, attempts, receives, cause }: DeadLetter): object {
  const text = key === undefined ? {} : { key: formatKey(key), ...key };
  return { messageId, ...text, since: new Date(atMs).toISOString(), attempts, receives, cause };
}

function parseKeyText(text: string): WorkKey {
  const key = parseWorkKey(text);
  if (key === undefined)
    throw new InvalidArgumentError("expected a key as printed by tmc deadletters list: logicalCluster|Kind/name.");
  return key;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new InvalidArgumentError("expected a whole number from 1 to 1000.");
  }
  return limit;
}
