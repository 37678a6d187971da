import type { JsonObject, KubeList, KubeObject, ResourceType, Status } from "./kube-object.ts";
import type { ResponseLimits } from "./transport/transport-limits.ts";

/** A collection: all objects of a type, or those in one namespace. */
export type Collection = Readonly<{ type: ResourceType; namespace?: string | undefined }>;
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
export type GetOptions = CallOptions & Readonly<{ resourceVersion?: string | undefined }>;
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
  /** The watch has sent everything up to this resourceVersion. */
  | Readonly<{ type: "BOOKMARK"; resourceVersion: string }>;

export type WatchOptions = CallOptions &
  SelectOptions &
  Readonly<{
    /** Where to resume. Without it, or with "0", the server first sends the existing objects. */
    resourceVersion?: string | undefined;
    timeoutSeconds?: number | undefined;
    allowWatchBookmarks?: boolean | undefined;
    /** Called when the server has accepted the watch. On a quiet collection nothing else happens for a long time. */
    onOpen?: (() => void) | undefined;
  }>;

/**
 * Sends requests to one API server, below one path of it. Every failure is an `ApiError` with a fault, the server's
 * message and, if the server sent one, its Status.
 */
export interface KubeClient {
  /** The server's address, with its path. */
  readonly server: string;
  /** The limits of the server's answers; undefined for a server that is trusted. */
  readonly limits?: ResponseLimits | undefined;

  get<T = KubeObject>(address: ObjectAddress, options?: GetOptions & { subresource?: string }): Promise<T>;
  /** Lists one page; `metadata.continue` is set if more follow. */
  list<T = KubeObject>(collection: Collection, options?: ListOptions): Promise<KubeList<T>>;
  /** Lists all pages from one snapshot. If a continue token expires, the list starts again. */
  listAll<T = KubeObject>(collection: Collection, options?: ListOptions): Promise<KubeList<T>>;
  create<T = KubeObject>(
    collection: Collection,
    object: object,
    options?: WriteOptions & { name?: string },
  ): Promise<T>;
  update<T = KubeObject>(address: ObjectAddress, object: object, options?: WriteOptions): Promise<T>;
  patch<T = KubeObject>(address: ObjectAddress, patch: Patch, options?: WriteOptions): Promise<T>;
  /** Returns the object if it waits for finalizers, or a Status if the server deleted it at once. */
  delete(address: ObjectAddress, options?: DeleteOptions): Promise<KubeObject | Status>;
  deleteAll(collection: Collection, options?: DeleteOptions & SelectOptions): Promise<void>;

  /** The same calls, returning only metadata (PartialObjectMetadata). */
  readonly metadata: Pick<KubeClient, "get" | "list" | "listAll" | "watch">;

  /**
   * Runs one watch request. It ends when the server ends it; an ERROR event (such as 410) is thrown as an `ApiError`. It
   * reads no faster than the caller. `watchForever` and `startInformer` build watches that never end on it.
   */
  watch<T = KubeObject>(collection: Collection, options?: WatchOptions): AsyncIterable<WatchEvent<T>>;

  /**
   * Sends any other request: `/readyz`, `/version`, discovery. The path is below the client's own. Every HTTP status is a
   * result here, including 404 and 500; only a server that cannot be reached is an `ApiError`.
   */
  raw(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    options?: CallOptions & { body?: string; contentType?: string; accept?: string },
  ): Promise<{ status: number; headers: Readonly<Record<string, string | undefined>>; text: string }>;

  /**
   * Returns a client for another path of the same server, over the same connections: `at("/clusters/root:demo")`. The
   * path starts at the server's root and replaces this client's own.
   */
  at(path: string): KubeClient;
  /** Closes the connections, also for every other client that shares them. */
  close(): Promise<void>;
}
