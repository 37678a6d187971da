import type { Work, WorkQueue } from "../model/work-item.ts";
import type { QueueEvent } from "../queue/queue-event.ts";

export type SharedRunOptions = Readonly<{
  /** Keys that are worked on at once. */
  workers: number;
  /** Ends the work: nothing more is begun. */
  signal: AbortSignal;
  /** How long what is in flight may take after that. */
  graceSeconds: number;
  /** Called when keys have come and before the first of them is worked on. */
  onBatch: () => void;
  onEvent: (event: QueueEvent) => void;
}>;

/** A queue that more than one process sends to and works on. */
export interface SharedQueue extends WorkQueue {
  /** Works until the signal aborts, and is done when everything in flight has ended or was given back. */
  run(work: Work, options: SharedRunOptions): Promise<void>;
}
