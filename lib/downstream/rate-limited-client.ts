import type { KubeClient } from "@tmc/kube/client.ts";
import type { Turn } from "./rate-limit.ts";

/** The calls that are made on clusters. */
export type PacedClient = Pick<
  KubeClient,
  "server" | "get" | "list" | "listAll" | "create" | "patch" | "delete" | "raw"
> &
  Readonly<{ metadata: Pick<KubeClient["metadata"], "get" | "list"> }>;

const forEver = new AbortController().signal;

/** A client whose every call waits for its turn. The time that a call may take counts from then on. */
export function pacedClient(client: KubeClient, turn: Turn, callSeconds?: number): PacedClient {
  type Limits = Readonly<{ signal?: AbortSignal | undefined; timeoutMs?: number | undefined }>;
  const paced = async <O extends Limits, T>(options: O | undefined, call: (limited: O) => Promise<T>): Promise<T> => {
    await turn(options?.signal ?? forEver);
    const timeoutMs = options?.timeoutMs ?? (callSeconds === undefined ? undefined : callSeconds * 1000);
    // Every field of these options may be left out.
    return call({ ...options, timeoutMs } as O);
  };
  return {
    server: client.server,
    get: (address, options) => paced(options, (limited) => client.get(address, limited)),
    list: (collection, options) => paced(options, (limited) => client.list(collection, limited)),
    listAll: (collection, options) => paced(options, (limited) => client.listAll(collection, limited)),
    create: (collection, object, options) => paced(options, (limited) => client.create(collection, object, limited)),
    patch: (address, patch, options) => paced(options, (limited) => client.patch(address, patch, limited)),
    delete: (address, options) => paced(options, (limited) => client.delete(address, limited)),
    raw: (method, path, options) => paced(options, (limited) => client.raw(method, path, limited)),
    metadata: {
      get: (address, options) => paced(options, (limited) => client.metadata.get(address, limited)),
      list: (collection, options) => paced(options, (limited) => client.metadata.list(collection, limited)),
    },
  };
}
