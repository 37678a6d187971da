import type { JsonObject, KubeList, KubeObject, ResourceType, Status } from "./kube-object.ts";

/** A collection: all of a type, or those of one namespace. */
export type Collection = Readonly<{ type: ResourceType; namespace?: string | undefined }>;
/** One object. */
export type ObjectAddress = Collection & Readonly<{ name: string }>;

export type CallOptions = Readonly<{ signal?: AbortSignal | undefined; timeoutMs?: number | undefined }>;
export type WriteOptions = CallOptions &
  Readonly<{
    fieldManager?: string | undefined;
    dryRun?: boolean | undefined;
    fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
    subresource?: string | undefined;
  }>;
export type SelectOptions = Readonly<{ labelSelector?: string | undefined; fieldSelector?: string | undefined }>;
export type ReadOptions = CallOptions & Readonly<{ resourceVersion?: string | undefined }>;
export type ListOptions = CallOptions &
  SelectOptions &
  Readonly<{
    limit?: number | undefined;
    continue?: string | undefined;
    resourceVersion?: string | undefined;
    resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
  }>;

export type Patch =
  | Readonly<{ type: "json"; body: readonly JsonObject[] }>
  | Readonly<{ type: "merge" | "strategic"; body: object }>
  /** Server-side apply; needs a field manager. */
  | Readonly<{ type: "apply"; body: object; force?: boolean | undefined }>;

export type DeleteOptions = CallOptions &
  Readonly<{
    preconditions?: Readonly<{ uid?: string | undefined; resourceVersion?: string | undefined }> | undefined;
    propagationPolicy?: "Foreground" | "Background" | "Orphan" | undefined;
    gracePeriodSeconds?: number | undefined;
    dryRun?: boolean | undefined;
  }>;

export type WatchEvent<T = KubeObject> =
  | Readonly<{ type: "ADDED" | "MODIFIED" | "DELETED"; object: T }>
  /** Everything up to this resourceVersion has been seen. */
  | Readonly<{ type: "BOOKMARK"; resourceVersion: string }>;

export type WatchOptions = CallOptions &
  SelectOptions &
  Readonly<{
    /** Where to go on; without it, or with "0", the server first sends what there is. */
    resourceVersion?: string | undefined;
    timeoutSeconds?: number | undefined;
    allowWatchBookmarks?: boolean | undefined;
    /** Hears that the server has taken the watch; where nothing happens that is all that is heard for a long time. */
    onOpen?: (() => void) | undefined;
  }>;

/**
 * Speaks to one API server, below one path of it. Every failure is an `ApiError` (packages/kube/src/errors.ts) with a fault, the
 * server's own words and, where it has one, its Status.
 */
export interface KubeClient {
  /** The server's address, with its path. */
  readonly server: string;

  get<T = KubeObject>(address: ObjectAddress, options?: ReadOptions & { subresource?: string }): Promise<T>;
  /** One page; `metadata.continue` is there when more follow. */
  list<T = KubeObject>(collection: Collection, options?: ListOptions): Promise<KubeList<T>>;
  /** All pages, from one snapshot. A continue token that expires on the way starts the list again. */
  listAll<T = KubeObject>(collection: Collection, options?: ListOptions): Promise<KubeList<T>>;
  create<T = KubeObject>(
    collection: Collection,
    object: object,
    options?: WriteOptions & { name?: string },
  ): Promise<T>;
  update<T = KubeObject>(address: ObjectAddress, object: object, options?: WriteOptions): Promise<T>;
  patch<T = KubeObject>(address: ObjectAddress, patch: Patch, options?: WriteOptions): Promise<T>;
  /** The object as it is now (it may wait for finalizers), or a Status when it is gone at once. */
  delete(address: ObjectAddress, options?: DeleteOptions): Promise<KubeObject | Status>;
  deleteAll(collection: Collection, options?: DeleteOptions & SelectOptions): Promise<void>;

  /** The same calls, answering only metadata (PartialObjectMetadata). */
  readonly metadata: Pick<KubeClient, "get" | "list" | "listAll" | "watch">;

  /**
   * One watch request, as it comes from the wire: ends when the server ends it; an ERROR event (410 …) is thrown as an
   * `ApiError`. Reads no faster than the caller. `packages/kube/src/watch.ts` builds the watch that goes on for ever on it.
   */
  watch<T = KubeObject>(collection: Collection, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;

  /**
   * Anything else: `/readyz`, `/version`, discovery. The path is below the client's own. Every HTTP status is an answer
   * here, 404 and 500 too; only a server that cannot be reached is an `ApiError`.
   */
  raw(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options?: CallOptions & { body?: string; contentType?: string; accept?: string },
  ): Promise<{ status: number; headers: Readonly<Record<string, string | undefined>>; text: string }>;

  /**
   * A client below another path of the same server, over the same connections: `at("/clusters/root:demo")`. The path
   * counts from the server's root and takes the place of this client's own.
   */
  at(path: string): KubeClient;
  /** Ends the connections, for every client that shares them. */
  close(): Promise<void>;
}
