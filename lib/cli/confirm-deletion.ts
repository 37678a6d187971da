import { type CliIo, UsageError } from "./cli-io.ts";

/** Asks before something is deleted, unless that was agreed to beforehand; answers whether to go on. */
export async function confirmDeletion(
  io: CliIo,
  { yes, question }: Readonly<{ yes: boolean; question: string }>,
): Promise<boolean> {
  if (yes) return true;
  const answer = await io.confirm(question);
  if (answer === undefined) throw new UsageError("nobody is there to be asked; say --yes to go on without a question");
  if (!answer) io.err("tmc: nothing was changed\n");
  return answer;
}
