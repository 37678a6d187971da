/** A message as a batch has it, whoever fetched it. */
export type BatchRecord = Readonly<{
  messageId: string;
  body: string;
  groupId: string;
  sentMs: number;
  /** How often it has been handed out, this time included. */
  receives: number;
}>;

/**
 * Works on a batch and answers which messages are to be handed out again; all others are done with.
 *
 * When `signal` aborts it answers at once: whatever has not ended by then has failed. When `drain` aborts nothing more is begun,
 * and what is under way may end.
 */
export type BatchRunner = (
  records: readonly BatchRecord[],
  signal: AbortSignal,
  drain?: AbortSignal,
) => Promise<Readonly<{ failed: readonly string[] }>>;
