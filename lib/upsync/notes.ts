import { unlessAborted } from "@tmc/kube/deadline.ts";
import { formatKey, type ObjectKey, type WorkloadKey } from "../model/key.ts";

/** What the workspace made of what a cluster said. */
export type Agreement = Readonly<{ born: string; upstream: string }>;

/**
 * What one process remembers of its upsync. Nothing in it is needed to be right: without it something is asked, told or tried
 * once more.
 */
export interface Notes {
  agreed(key: WorkloadKey): Agreement | undefined;
  agree(key: WorkloadKey, agreement: Agreement | undefined): void;
  /** Takes in what stands in the way of a key; answers whether that is news. */
  hinder(key: WorkloadKey, words: string): boolean;
  /** Has what is written to one registration by this process written in turn: side by side, all but one would conflict. */
  inTurn<T>(registration: ObjectKey, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** Creates empty notes. */
export function createNotes(): Notes {
  const agreements = new Map<string, Agreement>();
  const hindrances = new Map<string, string>();
  /** When the last of those who wait has had its turn. */
  const turns = new Map<string, Promise<void>>();
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
    inTurn: async (registration, signal, work) => {
      const id = formatKey(registration);
      const before = turns.get(id) ?? Promise.resolve();
      const { promise: mine, resolve: end } = Promise.withResolvers<void>();
      const done = before.then(() => mine);
      turns.set(id, done);
      try {
        await unlessAborted(before, signal);
        return await work();
      } finally {
        end();
        if (turns.get(id) === done) turns.delete(id);
      }
    },
  };
}
