import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";

/** How long an invocation works; the function's timeout is longer by the time of the last calls. */
export const resyncRunSeconds = 240;

/** Where a resync continues in one workspace, or at one endpoint of all tenants. */
export type ResyncPlace = Readonly<{
  source: string;
  /** The list to continue with (`listIdOf`); empty for the first one. */
  list: string;
  /** The continue token of the next page; undefined for the first page. */
  token?: string | undefined;
}>;

/** The rest of a resync that has run out of time, for the next invocation. */
export type ResyncCursor = Readonly<{
  /** When the resync started. */
  startedMs: number;
  /** Keys that earlier invocations have sent. */
  keys: number;
  /** Lists of earlier invocations that failed. */
  failed: number;
  /** Begun and not finished. */
  places: readonly ResyncPlace[];
  /** Every source behind this one, in alphabetical order, has not begun. */
  after: string;
}>;

export function formatResyncCursor({ startedMs, keys, failed, places, after }: ResyncCursor): string {
  return JSON.stringify({ v: 1, startedMs, keys, failed, places, after });
}

/** Parses a text of `formatResyncCursor`; throws a one-line error for anything else. */
export function parseResyncCursor(text: string): ResyncCursor {
  const body = parseJson(text);
  if (!isRecord(body) || body.v !== 1) throw unreadable("is not of version 1");
  const { startedMs, keys, failed, places, after } = body;
  if (!isCount(startedMs) || !isCount(keys) || !isCount(failed)) throw unreadable("has an invalid count");
  if (typeof after !== "string" || !Array.isArray(places)) throw unreadable("has no places");
  return { startedMs, keys, failed, places: places.map(parsePlace), after };
}

function parsePlace(value: unknown): ResyncPlace {
  if (!isRecord(value)) throw unreadable("has a place that is not an object");
  const { source, list, token } = value;
  if (typeof source !== "string" || typeof list !== "string") throw unreadable("has a place without a source");
  if (token !== undefined && typeof token !== "string") throw unreadable("has an invalid continue token");
  return { source, list, token };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable("is not JSON");
  }
}

function unreadable(why: string): ControllerError {
  return new ControllerError("invalid", `resync message: ${why}`);
}
