import type { Clock } from "@tmc/kube/clock.ts";

/** Has long lists give way to those that somebody waits for. */
export interface ListOrder<Id extends string> {
  /** A collection has been listed, or turned out not to be there. */
  arrived(id: Id): void;
  /** Resolves when all that go first have arrived, or have had their time. */
  giveWay(): Promise<void>;
}

export type ListOrderOptions<Id extends string> = Readonly<{
  /** The collections that go first. */
  first: Iterable<Id>;
  clock: Clock;
}>;

/** So long the others wait, once: a collection that cannot be listed must not keep all else from being known. */
const mostMs = 3_000;

/** Creates an order in which nothing has been listed yet. */
export function createListOrder<Id extends string>({ first, clock }: ListOrderOptions<Id>): ListOrder<Id> {
  const toCome = new Set(first);
  let isOver = toCome.size === 0;
  let cancel: (() => void) | undefined;
  const waiting = new Set<() => void>();
  const end = (): void => {
    isOver = true;
    cancel?.();
    for (const tell of waiting) tell();
    waiting.clear();
  };
  return {
    arrived: (id) => {
      if (toCome.delete(id) && toCome.size === 0 && !isOver) end();
    },
    giveWay: () =>
      new Promise((resolve) => {
        if (isOver) {
          resolve();
          return;
        }
        waiting.add(resolve);
        cancel ??= clock.after(mostMs, end);
      }),
  };
}
