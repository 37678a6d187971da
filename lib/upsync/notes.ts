import { formatKey, type ObjectKey, type WorkloadKey } from "../model/key.ts";

/** What the workspace made of what a cluster said. */
export type Agreement = Readonly<{ born: string; upstream: string }>;

/**
 * What one process remembers of its upsync. Nothing in it is needed to be right: without it something is asked or told once
 * more, and what went before a restart does not count as gone lately.
 */
export interface Notes {
  agreed(key: WorkloadKey): Agreement | undefined;
  agree(key: WorkloadKey, agreement: Agreement | undefined): void;
  /** Takes in what stands in the way of a key; answers whether that is news. */
  hinder(key: WorkloadKey, words: string): boolean;
  /** What the workspace refuses of a cluster, in its words, by the names of keys. */
  refused(registration: ObjectKey): ReadonlyMap<string, string>;
  /** Whether it is time to offer again what was refused. */
  isRetried(registration: ObjectKey, name: string, afterSeconds: number): boolean;
  refuse(registration: ObjectKey, name: string, words: string | undefined): void;
  /** How many were removed lately because they had gone from a cluster. */
  removedLately(registration: ObjectKey): number;
  remove(registration: ObjectKey, key: WorkloadKey): void;
  /** Forgets what was refused of a cluster that is watched no more. */
  forget(registration: ObjectKey): void;
}

/** As long as it takes to see that something has gone wrong, and to do something about it. */
const latelyMs = 10 * 60_000;

type Refusal = Readonly<{ words: string; atMs: number }>;

/** Creates empty notes. */
export function createNotes({ now }: Readonly<{ now: () => number }>): Notes {
  const agreements = new Map<string, Agreement>();
  const hindrances = new Map<string, string>();
  const refusals = new Map<string, Map<string, Refusal>>();
  const removals = new Map<string, readonly number[]>();
  const lately = (id: string): readonly number[] => (removals.get(id) ?? []).filter((at) => now() - at < latelyMs);
  return {
    agreed: (key) => agreements.get(formatKey(key)),
    agree: (key, agreement) => {
      if (agreement === undefined || agreement.born === agreement.upstream) agreements.delete(formatKey(key));
      else agreements.set(formatKey(key), agreement);
    },
    hinder: (key, words) => {
      const before = hindrances.get(formatKey(key)) ?? "";
      if (words === "") hindrances.delete(formatKey(key));
      else hindrances.set(formatKey(key), words);
      return before !== words;
    },
    refused: (registration) =>
      new Map([...(refusals.get(formatKey(registration)) ?? [])].map(([name, { words }]) => [name, words])),
    isRetried: (registration, name, afterSeconds) => {
      const refusal = refusals.get(formatKey(registration))?.get(name);
      return refusal === undefined || now() - refusal.atMs >= afterSeconds * 1000;
    },
    refuse: (registration, name, words) => {
      const id = formatKey(registration);
      const known = refusals.get(id) ?? new Map<string, Refusal>();
      if (words === undefined) known.delete(name);
      else known.set(name, { words, atMs: now() });
      if (known.size === 0) refusals.delete(id);
      else refusals.set(id, known);
    },
    removedLately: (registration) => lately(formatKey(registration)).length,
    remove: (registration, key) => {
      agreements.delete(formatKey(key));
      removals.set(formatKey(registration), [...lately(formatKey(registration)), now()]);
    },
    forget: (registration) => void refusals.delete(formatKey(registration)),
  };
}
