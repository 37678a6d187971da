import type { Clock } from "@tmc/kube/clock.ts";

/** Makes long lists yield to short ones that workloads wait for. */
export interface ListPriority<Id extends string> {
  /** To be called when a collection has been listed, or is not served. */
  arrived(id: Id): void;
  /** Resolves when all `first` collections have arrived, or after three seconds. */
  yieldToFirst(): Promise<void>;
}

export type ListPriorityOptions<Id extends string> = Readonly<{
  /** The collections that others yield to. */
  first: Iterable<Id>;
  clock: Clock;
}>;

/** The others wait at most this long, once: a collection that cannot be listed must not block all other lists. */
const maxWaitMs = 3_000;

/** Creates a priority for collections of which none has been listed yet. */
export function createListPriority<Id extends string>({ first, clock }: ListPriorityOptions<Id>): ListPriority<Id> {
  const remaining = new Set(first);
  let isOver = remaining.size === 0;
  let cancel: (() => void) | undefined;
  const waiters = new Set<() => void>();
  const end = (): void => {
    isOver = true;
    cancel?.();
    for (const resolve of waiters) resolve();
    waiters.clear();
  };
  return {
    arrived: (id) => {
      if (remaining.delete(id) && remaining.size === 0 && !isOver) end();
    },
    yieldToFirst: () =>
      new Promise((resolve) => {
        if (isOver) {
          resolve();
          return;
        }
        waiters.add(resolve);
        cancel ??= clock.after(maxWaitMs, end);
      }),
  };
}
