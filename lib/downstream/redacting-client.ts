import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import type { Status } from "@tmc/kube/kube-object.ts";

type Reads = KubeClient["metadata"];

/**
 * Wraps a client so that `redact` is applied to the text of its errors. A cluster knows the token that TMC sends and can put it
 * into its answers, which end in conditions that other users read. `onError` gets every error as the client throws it.
 */
export function redactingClient(
  client: KubeClient,
  redact: (text: string) => string,
  onError: (error: unknown) => void = () => {},
): KubeClient {
  const redactedErrorOf = (error: unknown): unknown => {
    onError(error);
    return redactedError(error, redact);
  };
  const redacted = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      throw redactedErrorOf(error);
    }
  };
  const reads = (inner: Reads): Reads => ({
    get: (address, options) => redacted(inner.get(address, options)),
    list: (collection, options) => redacted(inner.list(collection, options)),
    listAll: (collection, options) => redacted(inner.listAll(collection, options)),
    watch: async function* (collection, options) {
      try {
        yield* inner.watch(collection, options);
      } catch (error) {
        throw redactedErrorOf(error);
      }
    },
  });
  return {
    ...client,
    ...reads(client),
    metadata: reads(client.metadata),
    create: (collection, object, options) => redacted(client.create(collection, object, options)),
    update: (address, object, options) => redacted(client.update(address, object, options)),
    patch: (address, patch, options) => redacted(client.patch(address, patch, options)),
    delete: (address, options) => redacted(client.delete(address, options)),
    deleteAll: (collection, options) => redacted(client.deleteAll(collection, options)),
    raw: (method, path, options) => redacted(client.raw(method, path, options)),
    at: (path) => redactingClient(client.at(path), redact, onError),
  };
}

function redactedError(error: unknown, redact: (text: string) => string): unknown {
  if (!(error instanceof ApiError)) return error;
  const { fault, message, status, reason, body, retryAfterSeconds, network } = error;
  const text = JSON.stringify(body);
  // Without the cause, which contains the same text.
  return new ApiError(fault, redact(message), {
    status,
    reason,
    body:
      text === undefined
        ? undefined
        : // Only strings are replaced, so it is still a Status.
          (JSON.parse(text, (_, value: unknown) => (typeof value === "string" ? redact(value) : value)) as Status),
    retryAfterSeconds,
    network,
  });
}
