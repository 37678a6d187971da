import { Command, InvalidArgumentError, Option } from "commander";
import { formatKey, parseKey, type WorkKey } from "../model/key.ts";
import type { DeadLetter, DeadLetters } from "../queue/dead-letters.ts";
import type { SqsClient } from "../queue/sqs-client.ts";
import { type CliIo, confirmDeletion, UsageError } from "./cli-io.ts";
import { formatDocument, formatSpan, formatTable, type Output, outputOption } from "./output.ts";

import { type QueueOptions, withQueueOptions, withSqs, workQueueOf } from "./queue-options.ts";

/** The commands about what was given up. */
export function deadLettersCommand(io: CliIo): Command {
  return new Command("deadletters")
    .summary("what was given up: list, redrive")
    .description(
      "Works with the keys that were given up: after something unforeseen, or when whoever worked on them died.",
    )
    .addCommand(listCommand(io))
    .addCommand(redriveCommand(io));
}

type ListOptions = QueueOptions & Readonly<{ output: Output; limit: number }>;

function listCommand(io: CliIo): Command {
  return withQueueOptions(
    new Command("list")
      .alias("ls")
      .summary("list what was given up, why and since when")
      .addOption(new Option("--limit <number>", "how many to show at most").argParser(parseLimit).default(100))
      .addOption(outputOption(["table", "json", "yaml"])),
    ["dead-letters"],
  ).action((options: ListOptions) =>
    withDeadLetters(io, options, async ({ deadLetters }) => {
      const { output, limit } = options;
      const { letters, isAll } = await deadLetters.list({ limit });
      if (output === "json" || output === "yaml")
        io.out(formatDocument({ letters: letters.map(documentOf), isAll }, output));
      else if (letters.length === 0) io.err("nothing was given up\n");
      else io.out(formatLetters(letters, io.clock.now()));
      if (!isAll) io.err(`tmc: there are more; --limit shows more than ${limit}\n`);
    }),
  );
}

type RedriveOptions = QueueOptions & Readonly<{ key?: WorkKey; all?: true; yes?: true }>;

function redriveCommand(io: CliIo): Command {
  return withQueueOptions(
    new Command("redrive")
      .summary("send again what was given up")
      .description(
        "Sends keys again that were given up, as if a person had asked for each; their failures are forgotten. What cannot be read stays.",
      )
      .addOption(
        new Option("--key <key>", "the key to send again, as tmc deadletters list shows it").argParser(parseKeyText),
      )
      .option("--all", "send again everything")
      .option("-y, --yes", "do not ask"),
    ["dead-letters"],
  )
    .addHelpText(
      "after",
      `
Examples:
  tmc deadletters redrive --queue-url $URL --key '1k2x|ClusterRegistration/east'
  tmc deadletters redrive --queue-url $URL --all
`,
    )
    .action((options: RedriveOptions) => {
      const { key, all = false, yes = false } = options;
      if ((key === undefined) === !all) throw new UsageError("say which: --key or --all");
      return withDeadLetters(io, options, async ({ deadLetters, count }) => {
        if (all) {
          const question = `Send again all that was given up, about ${await count()}?`;
          if (!(await confirmDeletion(io, { yes, question }))) return;
        }
        const isWatched = io.terminal !== undefined;
        const { sent, left } = await deadLetters.redrive({
          key,
          onProgress: (soFar) => {
            if (isWatched) io.err(`${soFar.sent} sent again, ${soFar.left} left so far\n`);
          },
        });
        if (key !== undefined && sent === 0) throw new Error(`${formatKey(key)}: was not given up`);
        io.out(`${sent} ${sent === 1 ? "key was" : "keys were"} sent again\n`);
        if (all && left > 0) io.err(`tmc: ${left} stay: they cannot be read, or came while this went on\n`);
      });
    });
}

type Opened = Readonly<{ deadLetters: DeadLetters; count: () => Promise<number> }>;

async function withDeadLetters(
  io: CliIo,
  options: QueueOptions,
  work: (opened: Opened) => Promise<void>,
): Promise<void> {
  const url = workQueueOf(io, options);
  await withSqs(io, url, async (sqs: SqsClient) => {
    const [{ createDeadLetters }, { findDeadLetters, readQueueStats }] = await Promise.all([
      import("../queue/dead-letters.ts"),
      import("../queue/queue-stats.ts"),
    ]);
    const deadLettersUrl = options.deadLettersUrl ?? (await findDeadLetters(sqs, url));
    if (deadLettersUrl === undefined) {
      throw new UsageError("the work queue names no dead letters; --dead-letters-url says where they are");
    }
    await work({
      deadLetters: createDeadLetters({ sqs, urls: { work: url, deadLetters: deadLettersUrl }, clock: io.clock }),
      count: async () => (await readQueueStats(sqs, "deadLetters", deadLettersUrl)).visible,
    });
  });
}

function formatLetters(letters: readonly DeadLetter[], nowMs: number): string {
  return formatTable(
    ["KEY", "SINCE", "FAILURES", "RECEIVES", "CAUSE"],
    letters.map(({ key, atMs, attempts, receives, cause }) => [
      key === undefined ? "<unreadable>" : formatKey(key),
      formatSpan(nowMs - atMs),
      Object.entries(attempts)
        .map(([sort, count]) => `${sort} ${count}`)
        .join(", "),
      String(receives),
      cause,
    ]),
  );
}

/** A dead letter as programs read it. */
function documentOf({ messageId, key, atMs, attempts, receives, cause }: DeadLetter): object {
  const text = key === undefined ? {} : { key: formatKey(key), ...key };
  return { messageId, ...text, since: new Date(atMs).toISOString(), attempts, receives, cause };
}

function parseKeyText(text: string): WorkKey {
  const key = parseKey(text);
  if (key === undefined) throw new InvalidArgumentError("write it as the list shows it: cluster|Kind/name.");
  return key;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1_000) {
    throw new InvalidArgumentError("write a whole number from 1 to 1000.");
  }
  return limit;
}
