import { createHash } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import { subdomainProblems } from "@tmc/kube/selector.ts";
import { formatKey, type WorkKey, workKinds, workloadAddress } from "../model/key.ts";
import { coalesce, reasons, type WorkItem } from "../model/work-item.ts";

import type { FailureSort } from "./retry-policy.ts";

/** Failures since the last success, each sort by itself. */
export type Attempts = Readonly<Partial<Record<FailureSort, number>>>;

/** A work item on its way through the cloud: no process remembers it, so it carries its own past. */
export type WorkMessage = WorkItem &
  Readonly<{
    attempts?: Attempts | undefined;
    /** What tells this wish from others of the same reason; two messages with the same one are one wish. */
    nonce?: string | undefined;
  }>;

/** A message of the delay queue; what is left of a wait that is longer than that queue can hold comes after it. */
export type DelayedMessage = WorkMessage & Readonly<{ restSeconds?: number | undefined }>;

/** What is counted; a lasting fault is not. The letters keep a deduplication id short. */
const counted = { conflict: "c", trouble: "t", unforeseen: "u" } as const;
const countedSorts = ["conflict", "trouble", "unforeseen"] as const;

/** From here on every wait is as long as the one before, so nothing is gained by counting, and equal wishes stay equal. */
export const mostCounted = 9;

const clusterPattern = /^[a-z0-9-]*$/;
const noncePattern = /^[A-Za-z0-9.-]{1,40}$/;
const shortVersion = /^[A-Za-z0-9]{1,24}$/;

/** The line that a key's messages stand in, so that one of them is worked on at a time. Names may be longer than a group's. */
export function groupOf(key: WorkKey): string {
  return hashOf(formatKey(key));
}

/** A text as a group's name. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/**
 * What the queue tells doubles by, for five minutes, also after the message has been worked on.
 *
 * A change of a version is one wish whoever sends it. Everything else has a nonce, or the queue would take a second look for
 * the double of the first.
 */
export function deduplicationIdOf({ key, reason, resourceVersion = "", nonce }: WorkMessage): string {
  const version =
    resourceVersion === "" || shortVersion.test(resourceVersion) ? resourceVersion : hashOf(resourceVersion);
  const parts = [groupOf(key), version.slice(0, 24), reason];
  return (nonce === undefined ? parts : [...parts, nonce]).join("-");
}

/** Says whether two senders of this item mean the same wish. */
export function needsNonce({ reason, resourceVersion }: WorkItem): boolean {
  return reason !== "changed" || resourceVersion === undefined || resourceVersion === "";
}

/** The attempts of a message in a few letters, such as `c1t4`. */
export function formatAttempts(attempts: Attempts = {}): string {
  return countedSorts.map((sort) => (attempts[sort] === undefined ? "" : `${counted[sort]}${attempts[sort]}`)).join("");
}

/** A message as text: the key and why it was sent, never an object. The same deduplication id gives the same text. */
export function formatBody(message: DelayedMessage): string {
  const { key, reason, resourceVersion: rv, attempts, nonce, restSeconds } = message;
  const { logicalCluster, kind, name } = key;
  const hasFailed = attempts !== undefined && Object.keys(attempts).length > 0;
  return JSON.stringify({
    v: 1,
    logicalCluster,
    kind,
    name,
    reason,
    rv,
    attempts: hasFailed ? attempts : undefined,
    nonce,
    restSeconds,
  });
}

/** Reads what `formatBody` wrote; refuses anything else in one line that says why. */
export function parseBody(text: string): DelayedMessage {
  const body = parseJson(text);
  if (!isRecord(body)) throw unreadable("is not a JSON object");
  if (body.v !== 1) throw unreadable(`has the version ${shown(body.v)}, not 1`);
  const { logicalCluster, name, rv, nonce, restSeconds } = body;
  const kind = workKinds.find((known) => known === body.kind);
  const reason = reasons.find((known) => known === body.reason);
  if (kind === undefined) throw unreadable(`has the kind ${shown(body.kind)}`);
  if (reason === undefined) throw unreadable(`has the reason ${shown(body.reason)}`);
  if (typeof logicalCluster !== "string" || !clusterPattern.test(logicalCluster)) {
    throw unreadable(`has the logicalCluster ${shown(logicalCluster)}`);
  }
  if (typeof name !== "string" || !isNameOf(kind, name)) throw unreadable(`has the name ${shown(name)}`);
  if (rv !== undefined && typeof rv !== "string") throw unreadable(`has the version of an object ${shown(rv)}`);
  if (nonce !== undefined && !(typeof nonce === "string" && noncePattern.test(nonce))) {
    throw unreadable(`has the nonce ${shown(nonce)}`);
  }
  if (restSeconds !== undefined && !(typeof restSeconds === "number" && restSeconds >= 0)) {
    throw unreadable(`has ${shown(restSeconds)} seconds left`);
  }
  return {
    key: { logicalCluster, kind, name },
    reason,
    resourceVersion: rv,
    attempts: parseAttempts(body.attempts),
    nonce,
    restSeconds,
  };
}

/** Makes one of two messages for the same key, the later one given last; a fresh change keeps the count of attempts. */
export function collapseMessages(waiting: WorkMessage, fresh: WorkMessage): WorkMessage {
  const attempts: Partial<Record<FailureSort, number>> = { ...waiting.attempts };
  for (const sort of countedSorts) {
    const count = fresh.attempts?.[sort];
    if (count !== undefined) attempts[sort] = Math.max(count, attempts[sort] ?? 0);
  }
  return { ...coalesce(waiting, fresh), attempts };
}

/** Adds a failure to those before it. */
export function countFailure(attempts: Attempts = {}, sort: FailureSort): Attempts {
  return { ...attempts, [sort]: Math.min(mostCounted, (attempts[sort] ?? 0) + 1) };
}

function isNameOf(kind: WorkKey["kind"], name: string): boolean {
  const objectName = kind === "Workload" ? workloadAddress({ name })?.name : name;
  return objectName !== undefined && subdomainProblems(objectName).length === 0;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable("is not JSON");
  }
}

function parseAttempts(value: unknown): Attempts | undefined {
  if (value === undefined) return undefined;
  if (!isRecord(value)) throw unreadable(`has the attempts ${shown(value)}`);
  const attempts: Partial<Record<FailureSort, number>> = {};
  for (const sort of countedSorts) {
    const count = value[sort];
    if (count === undefined) continue;
    if (typeof count !== "number" || !Number.isInteger(count) || count < 1) {
      throw unreadable(`has the attempts ${shown(count)}`);
    }
    attempts[sort] = Math.min(count, mostCounted);
  }
  return attempts;
}

/** A strange value in a few letters; it may be anything, so no more than its beginning is shown. */
function shown(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(value.slice(0, 40))
    : value === undefined
      ? "missing"
      : typeof value;
}

function unreadable(why: string): ControllerError {
  return new ControllerError("invalid", `message: ${why}`);
}
