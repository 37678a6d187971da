import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { type FaultPlan, type FaultSubject, type Faults, noFaults } from "./faults.ts";
import { ConnectionReset } from "./http.ts";

/** One event of a watch; its object is rendered when it is sent. */
export type StreamEvent =
  | Readonly<{ type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; object: KubeObject }>
  | Readonly<{ type: "ERROR"; object: Status }>;

export type WatchStreamOptions = Readonly<{
  clock: Clock;
  /** Events to send before the first change. */
  initial: Iterable<StreamEvent>;
  /** Subscribes to changes; returns a function that unsubscribes. */
  subscribe: (push: (event: StreamEvent) => void) => () => void;
  /** Renders the object of an event. */
  render: (event: StreamEvent) => string;
  /** Creates a bookmark at the current revision; undefined if the client did not ask for bookmarks. */
  bookmark?: (() => StreamEvent) | undefined;
  timeoutMs: number;
  /** Each of these ends the watch as if its timeout had passed. */
  signals: readonly AbortSignal[];
  faults?: Faults | undefined;
  plan?: FaultPlan | undefined;
  subject?: FaultSubject | undefined;
}>;

/** A client that is this many events behind is disconnected, as in a real server, and can resume. */
const maxPending = 20_000;
const chunkBytes = 64 * 1024;
const bookmarkEveryMs = 60_000;
/** The last bookmark is sent this long before the timeout. */
const bookmarkBeforeEndMs = 2_000;

/**
 * Creates the body of a watch: one JSON line per event, in order; for a slow reader, many lines per chunk. Subscribes
 * immediately and not on the first read, so that no event is missed.
 */
export function createWatchStream(options: WatchStreamOptions): AsyncIterable<string> {
  const { clock, render, plan = noFaults, faults, subject, timeoutMs, signals } = options;
  const pending: StreamEvent[] = [...options.initial];
  let next = 0;
  let sent = 0;
  let ended = false;
  let failure: Error | undefined;
  let resumeReader: (() => void) | undefined;

  const notifyReader = (): void => {
    resumeReader?.();
    resumeReader = undefined;
  };
  const end = (error?: Error): void => {
    if (ended) return;
    ended = true;
    failure = error;
    cleanUp();
    notifyReader();
  };
  const isStalled = (): boolean =>
    (plan.stallWatchAfter !== undefined && sent >= plan.stallWatchAfter) ||
    (faults !== undefined && subject !== undefined && faults.isPartitioned(subject));
  const push = (event: StreamEvent): void => {
    if (ended) return;
    pending.push(event);
    if (pending.length - next > maxPending) end();
    else notifyReader();
  };

  const cleanups: (() => void)[] = [];
  const cleanUp = (): void => {
    for (const undo of cleanups.splice(0)) undo();
  };
  cleanups.push(
    options.subscribe(push),
    clock.after(timeoutMs, () => end()),
  );
  for (const signal of signals) {
    const finish = (): void => {
      // The abort reason may contain a last error for the client.
      if (signal.reason instanceof ApiFailure) push({ type: "ERROR", object: signal.reason.status });
      end();
    };
    signal.addEventListener("abort", finish, { once: true });
    cleanups.push(() => signal.removeEventListener("abort", finish));
  }
  if (faults !== undefined && subject !== undefined) {
    cleanups.push(faults.openWatch(subject, () => end(new ConnectionReset("injected watch reset"))));
  }
  scheduleBookmarks(options, push, cleanups);
  if (signals.some((signal) => signal.aborted)) end();

  async function* lines(): AsyncGenerator<string> {
    try {
      for (;;) {
        let chunk = "";
        while (next < pending.length && chunk.length < chunkBytes && !isStalled()) {
          if (plan.cutWatchAfter !== undefined && sent >= plan.cutWatchAfter) break;
          const event = pending[next];
          next += 1;
          sent += 1;
          if (event !== undefined) chunk += `{"type":"${event.type}","object":${render(event)}}\n`;
        }
        if (next > 1024 && next * 2 > pending.length) {
          pending.splice(0, next);
          next = 0;
        }
        if (chunk !== "") yield chunk;
        if (plan.cutWatchAfter !== undefined && sent >= plan.cutWatchAfter)
          throw new ConnectionReset("injected watch reset");
        if (failure !== undefined) throw failure;
        if (next < pending.length && !isStalled() && !ended) continue;
        // Events from before the timeout are still sent, except those that a fault holds back.
        if (ended && (next >= pending.length || isStalled())) return;
        if (!ended) await new Promise<void>((resolve) => (resumeReader = resolve));
      }
    } finally {
      end();
    }
  }
  return lines();
}

function scheduleBookmarks(
  { clock, bookmark, timeoutMs }: WatchStreamOptions,
  push: (event: StreamEvent) => void,
  cleanups: (() => void)[],
): void {
  if (bookmark === undefined) return;
  const lastAt = clock.now() + timeoutMs - bookmarkBeforeEndMs;
  const schedule = (): void => {
    const now = clock.now();
    const delay = lastAt > now ? Math.min(bookmarkEveryMs, lastAt - now) : bookmarkEveryMs;
    const cancel = clock.after(delay, () => {
      cleanups.splice(cleanups.indexOf(cancel), 1);
      push(bookmark());
      schedule();
    });
    cleanups.push(cancel);
  };
  schedule();
}
