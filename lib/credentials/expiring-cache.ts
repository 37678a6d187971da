import type { Clock } from "@tmc/kube/clock.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";

/** What was read, and for how long it may be used before it is read again. */
export type Read<T> = Readonly<{ value: T; rememberMs: number }>;

/** Answers that are dear to get, kept for a while. */
export interface Remembered<T> {
  /** The answer that is kept, or a new one; all who ask while it is read wait for the same one. */
  get(id: string, read: () => Promise<Read<T>>, signal: AbortSignal): Promise<T>;
  /** Whoever asks next gets a new one, even where one is being read just now. */
  forget(id: string): void;
}

export type RememberedOptions = Readonly<{
  clock: Clock;
  /** Spreads the reading again of many. */
  random: () => number;
  /** What was asked for longest ago goes first. @default 5000 */
  capacity?: number | undefined;
  /**
   * Whether an answer that has grown old is still given when its source cannot be asked. One that somebody had forgotten is
   * never. @default false
   */
  staleWhileDown?: boolean | undefined;
}>;

/** Some five kilobytes each, 25 MB in all. Fewer than there are clusters would mean that each look reads, and reads are paid for. */
const defaultCapacity = 5_000;
/** A source that is down is not asked by every caller. */
const pauseAfterFailureMs = 10_000;

/** A read that is under way; forgotten, it is no longer the one of its id. */
type Flight<T> = { answer: Promise<T> | undefined };

/** Creates a memory that is empty. */
export function createRemembered<T>(options: RememberedOptions): Remembered<T> {
  const { clock, random, capacity = defaultCapacity, staleWhileDown = false } = options;
  const kept = new Map<string, Readonly<{ value: T; untilMs: number }>>();
  const underWay = new Map<string, Flight<T>>();

  const keep = (id: string, entry: Readonly<{ value: T; untilMs: number }>): void => {
    kept.delete(id); // so that it becomes the youngest
    kept.set(id, entry);
    for (const oldest of kept.keys()) {
      if (kept.size <= capacity) return;
      kept.delete(oldest);
    }
  };

  const readNow = (id: string, read: () => Promise<Read<T>>): Promise<T> => {
    const flight: Flight<T> = { answer: undefined };
    underWay.set(id, flight);
    const isWanted = (): boolean => underWay.get(id) === flight;
    const answer = (async () => {
      try {
        const { value, rememberMs } = await read();
        if (isWanted()) keep(id, { value, untilMs: clock.now() + rememberMs * (0.8 + 0.2 * random()) });
        return value;
      } catch (error) {
        const old = kept.get(id);
        if (!staleWhileDown || old === undefined || !isWanted()) throw error;
        keep(id, { value: old.value, untilMs: clock.now() + pauseAfterFailureMs });
        return old.value;
      } finally {
        if (isWanted()) underWay.delete(id);
      }
    })();
    flight.answer = answer;
    return answer;
  };

  return {
    get: (id, read, signal) => {
      const entry = kept.get(id);
      if (entry !== undefined && entry.untilMs > clock.now()) {
        keep(id, entry);
        return Promise.resolve(entry.value);
      }
      return unlessAborted(underWay.get(id)?.answer ?? readNow(id, read), signal);
    },
    forget: (id) => {
      kept.delete(id);
      underWay.delete(id);
    },
  };
}
