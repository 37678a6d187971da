import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";
import type { ObjectKey } from "../model/key.ts";

/** Clusters that one invocation probes. */
export type HeartbeatMessage = Readonly<{
  clusters: readonly Readonly<{ logicalCluster: string; name: string }>[];
  /** Delay with which it was sent; its lateness counts from the end of the delay. */
  delaySeconds: number;
}>;

/** Two rounds of concurrent probes, including unreachable clusters, fit into the timeout of a function. */
export const maxClustersPerMessage = 50;

export function formatHeartbeat({ clusters, delaySeconds }: HeartbeatMessage): string {
  return JSON.stringify({
    v: 1,
    clusters: clusters.map(({ logicalCluster, name }) => ({ logicalCluster, name })),
    delaySeconds,
  });
}

/** Parses a text of `formatHeartbeat`; throws a one-line error for anything else. */
export function parseHeartbeat(text: string): HeartbeatMessage {
  const body = parseBody("heartbeat", text);
  const { clusters, delaySeconds = 0 } = body;
  if (!Array.isArray(clusters) || clusters.length > maxClustersPerMessage) {
    throw unreadable("heartbeat", `does not have a list of at most ${maxClustersPerMessage} clusters`);
  }
  if (typeof delaySeconds !== "number" || !(delaySeconds >= 0)) throw unreadable("heartbeat", "has an invalid delay");
  return { clusters: clusters.map(parseCluster), delaySeconds };
}

export function registrationKeysOf({ clusters }: HeartbeatMessage): readonly ObjectKey[] {
  return clusters.map(({ logicalCluster, name }) => ({
    logicalCluster,
    kind: "ClusterRegistration",
    name,
  }));
}

function parseCluster(value: unknown): Readonly<{ logicalCluster: string; name: string }> {
  if (!isRecord(value)) throw unreadable("heartbeat", "has a cluster that is not an object");
  const { logicalCluster, name } = value;
  if (typeof logicalCluster !== "string" || !/^[a-z0-9-]*$/.test(logicalCluster))
    throw unreadable("heartbeat", "has a cluster without a logical cluster");
  if (typeof name !== "string" || subdomainErrors(name).length > 0)
    throw unreadable("heartbeat", "has a cluster without a name");
  return { logicalCluster, name };
}

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
  const body = parseBody("resync", text);
  const { startedMs, keys, failed, places, after } = body;
  if (!isCount(startedMs) || !isCount(keys) || !isCount(failed)) throw unreadable("resync", "has an invalid count");
  if (typeof after !== "string" || !Array.isArray(places)) throw unreadable("resync", "has no places");
  return { startedMs, keys, failed, places: places.map(parsePlace), after };
}

function parsePlace(value: unknown): ResyncPlace {
  if (!isRecord(value)) throw unreadable("resync", "has a place that is not an object");
  const { source, list, token } = value;
  if (typeof source !== "string" || typeof list !== "string")
    throw unreadable("resync", "has a place without a source");
  if (token !== undefined && typeof token !== "string") throw unreadable("resync", "has an invalid continue token");
  return { source, list, token };
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Which message a text should be, for errors. */
type MessageKind = "heartbeat" | "resync";

function parseBody(kind: MessageKind, text: string): Readonly<Record<string, unknown>> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw unreadable(kind, "is not JSON");
  }
  if (!isRecord(body) || body.v !== 1) throw unreadable(kind, "is not of version 1");
  return body;
}

function unreadable(kind: MessageKind, why: string): ControllerError {
  return new ControllerError("invalid", `${kind} message: ${why}`);
}
