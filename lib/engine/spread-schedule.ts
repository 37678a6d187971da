import type { Clock } from "@tmc/kube/clock.ts";
import type { WorkKey } from "../model/key.ts";

export type RotaOptions = Readonly<{
  periodSeconds: number;
  clock: Clock;
  /** The keys that there are now. */
  keys: () => Iterable<WorkKey>;
  /** Whose turn it is. */
  onTurn: (keys: readonly WorkKey[]) => void;
}>;

/** Gives every key its turn once in a period. */
export interface Rota {
  start(): void;
  stop(): void;
}

/** In how many steps a period goes round; a second is short enough for any of them. */
const mostSteps = 60;
const shortestStepMs = 1_000;

/**
 * Creates a rota that spreads the keys evenly over its period: a key's place follows from its name alone, so it comes round
 * at the same distance each time, and neither a restart nor a thousand new keys bunch the others up.
 */
export function createRota({ periodSeconds, clock, keys, onTurn }: RotaOptions): Rota {
  const periodMs = periodSeconds * 1000;
  const steps = Math.max(1, Math.min(mostSteps, Math.floor(periodMs / shortestStepMs)));
  const stepMs = periodMs / steps;
  let cancel: (() => void) | undefined;
  let turn = 0;

  const plan = (atMs: number): void => {
    cancel = clock.after(Math.max(0, atMs - clock.now()), () => {
      const now = turn;
      turn = (turn + 1) % steps;
      // From when this one was due, or lateness would add up; unless the machine slept: rounds that were missed stay missed.
      plan(clock.now() - atMs > periodMs ? clock.now() + stepMs : atMs + stepMs);
      const due: WorkKey[] = [];
      for (const key of keys()) if (placeOf(key) % steps === now) due.push(key);
      if (due.length > 0) onTurn(due);
    });
  };
  return {
    start: () => {
      if (cancel !== undefined) return;
      turn = 0;
      plan(clock.now() + stepMs);
    },
    stop: () => {
      cancel?.();
      cancel = undefined;
    },
  };
}

/** A number that spreads well and is the same in every process: FNV-1a over the key. */
export function placeOf({ logicalCluster, kind, name }: WorkKey): number {
  const hash = hashOf(name, hashOf(kind, hashOf(logicalCluster, 0x811c9dc5)));
  // The low bits of names that differ in one digit are alike; the high ones are not.
  return (hash ^ (hash >>> 16)) >>> 0;
}

function hashOf(text: string, start: number): number {
  let hash = start;
  // By index: this is done for every key at every step.
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash;
}
