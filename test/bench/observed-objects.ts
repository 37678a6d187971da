import type { KubeClient } from "@tmc/kube/client.ts";
import { watchForever } from "@tmc/kube/informer/watch.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";

/** Objects as they were seen last, in what is followed of a server. */
export interface ObservedObjects<Seen extends KubeObject> {
  /** Watches a type until the signal; answers once what is there has been listed. `ended` resolves when the watch has ended. */
  follow(client: KubeClient, type: ResourceType, signal: AbortSignal): Promise<Readonly<{ ended: Promise<void> }>>;
  /** Resolves when this is true of so many objects; fails when for minutes it has come true of no other. */
  untilSeen(count: number, holds: (object: Seen) => boolean): Promise<void>;
}

/** Whoever waits for longer without anything coming waits for something that will not come. */
const mostQuietMs = 120_000;

/** Begins with nothing that was seen. */
export function createObservedObjects<Seen extends KubeObject>(): ObservedObjects<Seen> {
  const seen = new Map<string, Seen>();
  const listeners = new Set<(object: Seen) => void>();
  return {
    follow: async (client, type, signal) => {
      const { promise: isListed, resolve } = Promise.withResolvers<void>();
      const take = (object: Seen): void => {
        const { namespace = "", name = "" } = object.metadata;
        seen.set(`${type.plural}/${namespace}/${name}`, object);
        for (const listener of [...listeners]) listener(object);
      };
      const ended = (async () => {
        for await (const event of watchForever<Seen>(client, { type }, { signal })) {
          if (event.type === "changed") take(event.object);
          if (event.type !== "listed") continue;
          for (const object of event.objects) take(object);
          resolve();
        }
      })();
      await Promise.race([isListed, ended]);
      return { ended };
    },
    untilSeen: (count, holds) =>
      new Promise((resolve, reject) => {
        const ids = new Set([...seen.values()].filter(holds).map(({ metadata }) => metadata.uid));
        if (ids.size >= count) {
          resolve();
          return;
        }
        const giveUp = (): void => {
          listeners.delete(listener);
          reject(new Error(`bench: waited for ${count} objects, and only ${ids.size} of them came`));
        };
        const quiet = setTimeout(giveUp, mostQuietMs);
        const listener = (object: Seen): void => {
          const before = ids.size;
          if (holds(object)) ids.add(object.metadata.uid);
          else ids.delete(object.metadata.uid);
          if (ids.size > before) quiet.refresh();
          if (ids.size < count) return;
          clearTimeout(quiet);
          listeners.delete(listener);
          resolve();
        };
        listeners.add(listener);
      }),
  };
}
