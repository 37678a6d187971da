import { errorOfLimit } from "../errors.ts";
import type { KubeList } from "../kube-object.ts";
import { type Call, formatCall, formatMebibytes, type Session } from "./exchange.ts";

/** What the pages of a list have cost so far. */
export type ListProgress = Readonly<{
  startedMs: number;
  pages: number;
  items: number;
  bytes: number;
  /** The page size that worked, if it is smaller than the requested one. */
  pageSize?: number | undefined;
}>;

/** The progress of the unfinished lists of one client. */
export interface ListProgresses {
  /** The progress of the list that a continue token belongs to; that of a new list without a token. */
  take(token: string | undefined): ListProgress;
  /** Adds a page, and stores the progress under the page's continue token. Throws if the list exceeds a limit. */
  add(before: ListProgress, page: Page<unknown>, pageSize: number | undefined): void;
}

/** A page of a list, with the call and the text that it comes from. */
export type Page<T> = Readonly<{ call: Call; list: KubeList<T>; text: string }>;

/** Lists that were not continued are dropped beyond this number, the oldest first. */
const maxUnfinished = 1_000;
/** A continue token of a Kubernetes API server has about 200 characters. */
const maxTokenLength = 4_096;

/**
 * Creates the accounting for the lists of a client whose server is not trusted: such a server can return pages without end.
 * It goes by the continue tokens, so that it also covers callers that request the pages one by one.
 */
export function createListProgresses(session: Session): ListProgresses {
  const unfinished = new Map<string, ListProgress>();
  const { limits, clock } = session;
  return {
    take: (token) => {
      const found = token === undefined ? undefined : unfinished.get(token);
      if (token !== undefined) unfinished.delete(token);
      return found ?? { startedMs: clock.monotonicMs(), pages: 0, items: 0, bytes: 0 };
    },
    add: (before, { call, list, text }, pageSize) => {
      const token = list.metadata.continue || undefined;
      if (limits === undefined || token === undefined) return;
      const after = {
        startedMs: before.startedMs,
        pages: before.pages + 1,
        items: before.items + list.items.length,
        bytes: before.bytes + text.length,
        pageSize,
      };
      const fail = (why: string): never => {
        throw errorOfLimit(formatCall(session, call), why);
      };
      if (token.length > maxTokenLength) fail(`continue token is longer than ${maxTokenLength} characters`);
      if (after.pages >= limits.listPages) fail(`list has more than ${limits.listPages} pages`);
      if (after.items >= limits.listItems) fail(`list has more than ${limits.listItems} items`);
      if (after.bytes >= limits.listBytes) fail(`list is larger than ${formatMebibytes(limits.listBytes)}`);
      if (clock.monotonicMs() - after.startedMs >= limits.listMs)
        fail(`list takes longer than ${limits.listMs / 1000} s`);
      unfinished.set(token, after);
      for (const oldest of unfinished.keys()) {
        if (unfinished.size <= maxUnfinished) return;
        unfinished.delete(oldest);
      }
    },
  };
}
