import { createHash } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";
import { formatKey, parseWorkloadKey, type WorkKey, workKinds } from "../model/key.ts";
import { coalesce, type WorkItem, workReasons } from "../model/work-item.ts";
import type { FailureKind } from "./retry-policy.ts";

/** Failures since the last success, by kind. */
export type Attempts = Readonly<Partial<Record<FailureKind, number>>>;

/** A work item as an SQS message. No process keeps state for it, so it carries its own failure counts. */
export type WorkMessage = WorkItem &
  Readonly<{
    attempts?: Attempts | undefined;
    /** Part of the deduplication id: SQS drops a message of the same key, version, reason and nonce. */
    nonce?: string | undefined;
    /** Whether the key may have killed a process, and must not run together with others. */
    alone?: boolean | undefined;
  }>;

/** A message of the delay queue. `remainingSeconds` is the rest of a delay that exceeds the limit of SQS. */
export type DelayedMessage = WorkMessage & Readonly<{ remainingSeconds?: number | undefined }>;

/** The kinds that are counted; permanent faults are not. Letters keep the deduplication id short. */
const attemptLetters = { conflict: "c", transient: "t", unexpected: "u" } as const;
const countedKinds = ["conflict", "transient", "unexpected"] as const;

/** From here on every delay is the same. Not counting further keeps the ids of equal retries equal, so that SQS deduplicates them. */
export const maxCountedFailures = 9;

const logicalClusterPattern = /^[a-z0-9-]*$/;
const noncePattern = /^[A-Za-z0-9.-]{1,40}$/;
const shortVersion = /^[A-Za-z0-9]{1,24}$/;

/**
 * The message group of a key: SQS delivers one group to one consumer at a time. Hashed, because a key can exceed the length limit.
 *
 * A registration and a workload have a group of their own. The placements of a tenant share one: each decision counts the
 * placements on every cluster, so two consumers that decide at the same time would both select the cluster with the fewest.
 */
export function messageGroupOf(key: WorkKey): string {
  const { logicalCluster, kind } = key;
  return sha256Base64Url(kind === "WorkloadPlacement" ? `${logicalCluster}|${kind}` : formatKey(key));
}

/** SHA-256 of a text, in characters that SQS accepts in ids. */
export function sha256Base64Url(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/**
 * The deduplication id of a message. SQS drops messages with the same id for five minutes, even after the first was processed.
 *
 * A change has its object's version, so several relays may send it. Every other message has a nonce; otherwise SQS would drop
 * a second requeue or resync of the same key. So has a change whose version may be in use for the second time, because the
 * upstream server was restored from a backup: a relay that noticed that sends no version (`RestoreDetector`).
 */
export function deduplicationIdOf({ key, reason, resourceVersion = "", nonce }: WorkMessage): string {
  const version =
    resourceVersion === "" || shortVersion.test(resourceVersion) ? resourceVersion : sha256Base64Url(resourceVersion);
  const parts = [sha256Base64Url(formatKey(key)), version.slice(0, 24), reason];
  return (nonce === undefined ? parts : [...parts, nonce]).join("-");
}

/** Whether an item needs a nonce: it does not identify a change by its version. */
export function needsNonce({ reason, resourceVersion }: WorkItem): boolean {
  return reason !== "changed" || resourceVersion === undefined || resourceVersion === "";
}

/** Formats attempts for a deduplication id, such as `c1t4`. */
export function formatAttempts(attempts: Attempts = {}): string {
  return countedKinds
    .map((kind) => (attempts[kind] === undefined ? "" : `${attemptLetters[kind]}${attempts[kind]}`))
    .join("");
}

/** Formats a message body: the key and the reason, never an object. Messages with the same deduplication id have the same body. */
export function formatBody(message: DelayedMessage): string {
  const { key, reason, resourceVersion: rv, attempts, nonce, alone, remainingSeconds } = message;
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
    alone: alone === true ? true : undefined,
    remainingSeconds,
  });
}

/** Parses a body of `formatBody`; throws a one-line error for anything else. */
export function parseBody(text: string): DelayedMessage {
  const body = parseJson(text);
  if (!isRecord(body)) throw unreadable("is not a JSON object");
  if (body.v !== 1) throw unreadable(`has the version ${describeValue(body.v)}, not 1`);
  const { logicalCluster, name, rv, nonce, remainingSeconds } = body;
  const kind = workKinds.find((known) => known === body.kind);
  const reason = workReasons.find((known) => known === body.reason);
  if (kind === undefined) throw unreadable(`has the kind ${describeValue(body.kind)}`);
  if (reason === undefined) throw unreadable(`has the reason ${describeValue(body.reason)}`);
  if (typeof logicalCluster !== "string" || !logicalClusterPattern.test(logicalCluster)) {
    throw unreadable(`has the logicalCluster ${describeValue(logicalCluster)}`);
  }
  if (typeof name !== "string" || !isValidName(kind, name)) throw unreadable(`has the name ${describeValue(name)}`);
  if (rv !== undefined && typeof rv !== "string") throw unreadable(`has the resource version ${describeValue(rv)}`);
  if (nonce !== undefined && !(typeof nonce === "string" && noncePattern.test(nonce))) {
    throw unreadable(`has the nonce ${describeValue(nonce)}`);
  }
  if (remainingSeconds !== undefined && !(typeof remainingSeconds === "number" && remainingSeconds >= 0)) {
    throw unreadable(`has the remaining seconds ${describeValue(remainingSeconds)}`);
  }
  return {
    key: { logicalCluster, kind, name },
    reason,
    resourceVersion: rv,
    attempts: parseAttempts(body.attempts),
    nonce,
    ...(body.alone === true && { alone: true }),
    remainingSeconds,
  };
}

/** Coalesces two messages of the same key. A new change keeps the counted attempts. */
export function coalesceMessages(waiting: WorkMessage, fresh: WorkMessage): WorkMessage {
  const attempts: Partial<Record<FailureKind, number>> = { ...waiting.attempts };
  for (const kind of countedKinds) {
    const count = fresh.attempts?.[kind];
    if (count !== undefined) attempts[kind] = Math.max(count, attempts[kind] ?? 0);
  }
  const alone = waiting.alone === true || fresh.alone === true;
  return { ...coalesce(waiting, fresh), attempts, ...(alone && { alone }) };
}

export function countFailure(attempts: Attempts = {}, kind: FailureKind): Attempts {
  return { ...attempts, [kind]: Math.min(maxCountedFailures, (attempts[kind] ?? 0) + 1) };
}

function isValidName(kind: WorkKey["kind"], name: string): boolean {
  const objectName = kind === "Workload" ? parseWorkloadKey({ name })?.name : name;
  return objectName !== undefined && subdomainErrors(objectName).length === 0;
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
  if (!isRecord(value)) throw unreadable(`has the attempts ${describeValue(value)}`);
  const attempts: Partial<Record<FailureKind, number>> = {};
  for (const kind of countedKinds) {
    const count = value[kind];
    if (count === undefined) continue;
    if (typeof count !== "number" || !Number.isInteger(count) || count < 1) {
      throw unreadable(`has the attempts ${describeValue(count)}`);
    }
    attempts[kind] = Math.min(count, maxCountedFailures);
  }
  return attempts;
}

/** Describes an invalid value. Only its beginning is shown, because it can be anything. */
function describeValue(value: unknown): string {
  return typeof value === "string"
    ? JSON.stringify(value.slice(0, 40))
    : value === undefined
      ? "missing"
      : typeof value;
}

function unreadable(why: string): ControllerError {
  return new ControllerError("invalid", `message: ${why}`);
}
