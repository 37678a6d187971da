import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "./api-failure.ts";
import { type FaultPlan, type FaultSubject, type Faults, unharmed } from "./faults.ts";
import { ConnectionReset } from "./http.ts";

/** One event of a watch; the text of its object is made only when it is sent. */
export type WatchEvent =
  | Readonly<{ type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK"; object: KubeObject }>
  | Readonly<{ type: "ERROR"; object: Status }>;

export type WatchStreamOptions = Readonly<{
  clock: Clock;
  /** What is sent at once, before anything that happens from now on. */
  initial: Iterable<WatchEvent>;
  /** Tells of what happens from now on; the answer ends that. */
  subscribe: (push: (event: WatchEvent) => void) => () => void;
  /** The text of an object, as the request wants to see it. */
  render: (event: WatchEvent) => string;
  /** Makes the bookmark of this moment; undefined where none were asked for. */
  bookmark?: (() => WatchEvent) | undefined;
  timeoutMs: number;
  /** Any of these ends the watch as if its time were over. */
  signals: readonly AbortSignal[];
  faults?: Faults | undefined;
  plan?: FaultPlan | undefined;
  subject?: FaultSubject | undefined;
}>;

/** A watcher that is this far behind is cut off, as a real server does; it resumes from where it was. */
const maxWaiting = 20_000;
const chunkBytes = 64 * 1024;
const bookmarkEveryMs = 60_000;
/** A last bookmark goes out this long before a watch's time is over. */
const bookmarkBeforeEndMs = 2_000;

/**
 * Turns events into the body of a watch: one JSON line each, in order, many to a chunk when the reader is slow. Subscribes
 * at once, not when the reading begins, so that nothing is missed in between.
 */
export function createWatchStream(options: WatchStreamOptions): AsyncIterable<string> {
  const { clock, render, plan = unharmed, faults, subject, timeoutMs, signals } = options;
  const waiting: WatchEvent[] = [...options.initial];
  let next = 0;
  let sent = 0;
  let ended = false;
  let failure: Error | undefined;
  let wake: (() => void) | undefined;

  const rouse = (): void => {
    wake?.();
    wake = undefined;
  };
  const end = (error?: Error): void => {
    if (ended) return;
    ended = true;
    failure = error;
    stop();
    rouse();
  };
  const isSilent = (): boolean =>
    (plan.stallWatchAfter !== undefined && sent >= plan.stallWatchAfter) ||
    (faults !== undefined && subject !== undefined && faults.isPartitioned(subject));
  const push = (event: WatchEvent): void => {
    if (ended) return;
    waiting.push(event);
    if (waiting.length - next > maxWaiting) end();
    else rouse();
  };

  const stops: (() => void)[] = [];
  const stop = (): void => {
    for (const undo of stops.splice(0)) undo();
  };
  stops.push(
    options.subscribe(push),
    clock.after(timeoutMs, () => end()),
  );
  for (const signal of signals) {
    const finish = (): void => {
      // Whoever tears the watch down may have a last word for its reader.
      if (signal.reason instanceof ApiFailure) push({ type: "ERROR", object: signal.reason.status });
      end();
    };
    signal.addEventListener("abort", finish, { once: true });
    stops.push(() => signal.removeEventListener("abort", finish));
  }
  if (faults !== undefined && subject !== undefined) {
    stops.push(faults.openWatch(subject, () => end(new ConnectionReset("watch cut"))));
  }
  scheduleBookmarks(options, push, stops);
  if (signals.some((signal) => signal.aborted)) end();

  async function* lines(): AsyncGenerator<string> {
    try {
      for (;;) {
        let chunk = "";
        while (next < waiting.length && chunk.length < chunkBytes && !isSilent()) {
          if (plan.cutWatchAfter !== undefined && sent >= plan.cutWatchAfter) break;
          const event = waiting[next];
          next += 1;
          sent += 1;
          if (event !== undefined) chunk += `{"type":"${event.type}","object":${render(event)}}\n`;
        }
        if (next > 1024 && next * 2 > waiting.length) {
          waiting.splice(0, next);
          next = 0;
        }
        if (chunk !== "") yield chunk;
        if (plan.cutWatchAfter !== undefined && sent >= plan.cutWatchAfter) throw new ConnectionReset("watch cut");
        if (failure !== undefined) throw failure;
        if (next < waiting.length && !isSilent() && !ended) continue;
        // What was there when the time was over still goes out; what a fault holds back does not.
        if (ended && (next >= waiting.length || isSilent())) return;
        if (!ended) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      end();
    }
  }
  return lines();
}

function scheduleBookmarks(
  { clock, bookmark, timeoutMs }: WatchStreamOptions,
  push: (event: WatchEvent) => void,
  stops: (() => void)[],
): void {
  if (bookmark === undefined) return;
  const lastAt = clock.now() + timeoutMs - bookmarkBeforeEndMs;
  const schedule = (): void => {
    const now = clock.now();
    const delay = lastAt > now ? Math.min(bookmarkEveryMs, lastAt - now) : bookmarkEveryMs;
    const cancel = clock.after(delay, () => {
      stops.splice(stops.indexOf(cancel), 1);
      push(bookmark());
      schedule();
    });
    stops.push(cancel);
  };
  schedule();
}
