import type { Collection, KubeClient, ListOptions, WatchOptions } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay, neverAborted } from "@tmc/kube/deadline.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import type { KubeList } from "@tmc/kube/kube-object.ts";
import type { Watchable } from "@tmc/kube/paged-list.ts";

/** A collection of a type that may not be there to be watched. */
export interface TolerantSource extends Watchable {
  /** Why the last list was none: the type is not served (404), or not given to us (403). */
  missing(): ApiError | undefined;
}

/** A type that is new is served in a moment; one that nobody has is asked for no more often than a watch ends. */
const shortestAbsenceMs = 10_000;

/**
 * Makes of a type that is not served an empty list, and of the watch after it a silent one, after which it is asked for again:
 * that a workspace does not have some type of workload is nobody's trouble.
 */
export function tolerateAbsence(client: Watchable, clock: Clock): TolerantSource {
  let missing: ApiError | undefined;
  let absences = 0;

  const listAll = async (collection: Collection, options?: ListOptions): Promise<KubeList> => {
    try {
      const list = await client.listAll(collection, options);
      missing = undefined;
      absences = 0;
      return list;
    } catch (error) {
      if (!isAbsence(error)) throw error;
      missing = error;
      return { apiVersion: "v1", kind: "List", metadata: {}, items: [] };
    }
  };
  const watch = async function* (collection: Collection, options: WatchOptions = {}) {
    if (missing === undefined) {
      try {
        yield* client.watch(collection, options);
        return;
      } catch (error) {
        if (!isAbsence(error)) throw error;
        throw askAgain(error);
      }
    }
    options.onOpen?.();
    const longestMs = (options.timeoutSeconds ?? 300) * 1000;
    await delay(clock, Math.min(longestMs, shortestAbsenceMs * 2 ** absences), options.signal ?? neverAborted);
    absences += 1;
    throw askAgain(missing);
  };
  return {
    missing: () => missing,
    // Both give what the other client gives.
    listAll: listAll as KubeClient["listAll"],
    watch: watch as KubeClient["watch"],
  };
}

function isAbsence(error: unknown): error is ApiError {
  return error instanceof ApiError && (error.status === 404 || error.status === 403);
}

/** The fault after which an endless watch lists again. */
function askAgain(error: ApiError): ApiError {
  return new ApiError("not-found", error.message, { status: error.status, body: error.body }, { cause: error });
}
