import type { Collection, KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** One write that a server has stored. */
export type StoredWrite = Readonly<{ type: "ADDED" | "MODIFIED" | "DELETED"; object: KubeObject }>;

/** Everything that a server stores of some types, from now on. */
export interface WriteLog {
  /** What was stored so far, type by type. */
  readonly entries: readonly StoredWrite[];
  /** Ends it; fails when something may have been missed. */
  end(): Promise<readonly StoredWrite[]>;
}

/** Begins to write down what is stored; what there is already is no entry. */
export async function startWriteLog(
  client: KubeClient,
  collections: readonly Collection[],
  labelSelector?: string,
): Promise<WriteLog> {
  const ending = new AbortController();
  const entries: StoredWrite[] = [];
  const missed: unknown[] = [];
  const following = await Promise.all(
    collections.map(async (collection) => {
      const { resourceVersion } = (await client.list<KubeObject>(collection, { labelSelector })).metadata;
      const { signal } = ending;
      const follow = async (): Promise<void> => {
        const events = client.watch<KubeObject>(collection, { resourceVersion, labelSelector, signal });
        for await (const event of events) {
          if (event.type !== "BOOKMARK") entries.push({ type: event.type, object: event.object });
        }
        if (!signal.aborted) throw new Error(`the watch of ${collection.type.plural} ended before its time`);
      };
      // In an object, so that what is awaited here is the list and not the end.
      return { ended: follow().catch((error: unknown) => void (signal.aborted || missed.push(error))) };
    }),
  );
  return {
    entries,
    end: async () => {
      ending.abort();
      await Promise.all(following.map(({ ended }) => ended));
      if (missed.length > 0) throw missed[0];
      return entries;
    },
  };
}

/** `MODIFIED Deployment shop/web 123 by tmc`, for a message. */
export function formatWrite({ type, object: { kind, metadata } }: StoredWrite): string {
  const latest = metadata.managedFields?.toSorted((one, other) => ((one.time ?? "") < (other.time ?? "") ? 1 : -1))[0];
  const by =
    latest === undefined ? "" : ` by ${latest.manager ?? "?"}${latest.subresource ? ` (${latest.subresource})` : ""}`;
  return `${type} ${kind} ${metadata.namespace ?? ""}/${metadata.name ?? ""} ${metadata.resourceVersion ?? ""}${by}`;
}
