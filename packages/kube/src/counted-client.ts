import type { KubeClient } from "./client.ts";
import { type Clock, systemClock } from "./clock.ts";
import { ApiError } from "./errors.ts";

/** A request that succeeded or failed. */
export type CountedRequest = Readonly<{
  verb: "get" | "list" | "watch" | "create" | "update" | "patch" | "delete";
  /** The HTTP status; `none` without a response. */
  code: string;
  /** How long the request took; for a watch, how long it was open. */
  seconds: number;
}>;

type Reads = KubeClient["metadata"];

/** Wraps a client so that `onRequest` is called after each request. */
export function countedClient(
  client: KubeClient,
  onRequest: (request: CountedRequest) => void,
  clock: Clock = systemClock,
): KubeClient {
  const secondsSince = (beganMs: number): number => (clock.monotonicMs() - beganMs) / 1000;
  const count = async <T>(verb: CountedRequest["verb"], code: string, call: Promise<T>): Promise<T> => {
    const beganMs = clock.monotonicMs();
    try {
      const answer = await call;
      onRequest({ verb, code, seconds: secondsSince(beganMs) });
      return answer;
    } catch (error) {
      onRequest({ verb, code: codeOf(error), seconds: secondsSince(beganMs) });
      throw error;
    }
  };
  const reads = (inner: Reads): Reads => ({
    get: (address, options) => count("get", "200", inner.get(address, options)),
    list: (collection, options) => count("list", "200", inner.list(collection, options)),
    listAll: (collection, options) => count("list", "200", inner.listAll(collection, options)),
    watch: async function* (collection, options) {
      const beganMs = clock.monotonicMs();
      try {
        yield* inner.watch(collection, options);
        onRequest({ verb: "watch", code: "200", seconds: secondsSince(beganMs) });
      } catch (error) {
        onRequest({ verb: "watch", code: codeOf(error), seconds: secondsSince(beganMs) });
        throw error;
      }
    },
  });
  return {
    ...client,
    ...reads(client),
    metadata: reads(client.metadata),
    create: (collection, object, options) => count("create", "201", client.create(collection, object, options)),
    update: (address, object, options) => count("update", "200", client.update(address, object, options)),
    patch: (address, patch, options) => count("patch", "200", client.patch(address, patch, options)),
    delete: (address, options) => count("delete", "200", client.delete(address, options)),
    deleteAll: (collection, options) => count("delete", "200", client.deleteAll(collection, options)),
    at: (path) => countedClient(client.at(path), onRequest, clock),
  };
}

function codeOf(error: unknown): string {
  return error instanceof ApiError && error.status !== undefined ? String(error.status) : "none";
}
