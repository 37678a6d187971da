import { AsyncLocalStorage } from "node:async_hooks";
import type { WorkItem } from "../../lib/model/work-item.ts";
import type { ProcessView, ViewRun } from "./process-view.ts";

/** One run of the work on a key. */
export type WorkRun = Readonly<{
  item: WorkItem;
  /** When it began, in the view of its process. */
  began: ViewRun;
  /** What it has asked clusters to delete, by `deletionId`. */
  deletions: Set<string>;
}>;

/** Which controller does something, and for which key, where it is for one. */
export type Cause = Readonly<{
  process: Readonly<{ name: string; skewsMs: ReadonlySet<number>; view: ProcessView }>;
  work?: WorkRun | undefined;
}>;

/**
 * What everything that happens is done for. It follows the work through every wait, also into the servers, so that each
 * request and each change of the store can be held against the key that it was made for.
 */
export const causes = new AsyncLocalStorage<Cause>();
