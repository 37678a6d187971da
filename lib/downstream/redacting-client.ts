import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import type { Status } from "@tmc/kube/kube-object.ts";

type Reads = KubeClient["metadata"];

/**
 * A client whose failures do not say what must not be read, and which otherwise is the one it was made from. A cluster knows
 * the token that it is sent and can put it into its answers, and those go into conditions that others read.
 */
export function concealedClient(client: KubeClient, conceal: (text: string) => string): KubeClient {
  const hide = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      throw concealedError(error, conceal);
    }
  };
  const reads = (inner: Reads): Reads => ({
    get: (address, options) => hide(inner.get(address, options)),
    list: (collection, options) => hide(inner.list(collection, options)),
    listAll: (collection, options) => hide(inner.listAll(collection, options)),
    watch: async function* (collection, options) {
      try {
        yield* inner.watch(collection, options);
      } catch (error) {
        throw concealedError(error, conceal);
      }
    },
  });
  return {
    ...client,
    ...reads(client),
    metadata: reads(client.metadata),
    create: (collection, object, options) => hide(client.create(collection, object, options)),
    update: (address, object, options) => hide(client.update(address, object, options)),
    patch: (address, patch, options) => hide(client.patch(address, patch, options)),
    delete: (address, options) => hide(client.delete(address, options)),
    deleteAll: (collection, options) => hide(client.deleteAll(collection, options)),
    raw: (method, path, options) => hide(client.raw(method, path, options)),
    at: (path) => concealedClient(client.at(path), conceal),
  };
}

function concealedError(error: unknown, conceal: (text: string) => string): unknown {
  if (!(error instanceof ApiError)) return error;
  const { fault, message, status, reason, body, retryAfterSeconds, network } = error;
  const text = JSON.stringify(body);
  // Without its cause, which has the same words once more.
  return new ApiError(fault, conceal(message), {
    status,
    reason,
    body:
      text === undefined
        ? undefined
        : // Other texts in the same places: it is still a Status.
          (JSON.parse(text, (_, value: unknown) => (typeof value === "string" ? conceal(value) : value)) as Status),
    retryAfterSeconds,
    network,
  });
}
