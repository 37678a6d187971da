import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { formatKey } from "../../model/key.ts";
import type { ObjectCache } from "../../upstream/object-cache.ts";

/** A change that is shown to the user. */
export type LocalEvent = Readonly<{ timeMs: number; tone: "good" | "bad" | "plain"; subject: string; message: string }>;
type EventText = Omit<LocalEvent, "timeMs">;

/** Derives the event of a changed cluster; undefined when the change is not worth showing. */
export function clusterEvent(
  name: string,
  before: ClusterRegistration | undefined,
  after: ClusterRegistration | undefined,
): EventText | undefined {
  const event = (tone: EventText["tone"], message: string): EventText => ({ tone, subject: name, message });
  if (after === undefined) return event("plain", "unregistered");
  const [was, is] = [before, after].map((each) => findCondition(each?.status?.conditions, "Ready"));
  if (is !== undefined && (was?.status !== is.status || was.reason !== is.reason)) {
    if (is.status === "True") return event("good", readyText(after));
    // What a user asked for is not a fault.
    const tone = after.metadata.deletionTimestamp === undefined ? "bad" : "plain";
    return event(tone, `not Ready: ${is.reason}: ${is.message}`);
  }
  if (before === undefined) return event("plain", `registered at ${after.spec.location}`);
  const isDeleting = after.metadata.deletionTimestamp !== undefined && before.metadata.deletionTimestamp === undefined;
  if (isDeleting) return event("plain", "is being unregistered");
  const [hadTaints, hasTaints] = [before, after].map(taintsText);
  if (hadTaints !== hasTaints) {
    return hasTaints === "" ? event("good", "taints removed") : event("plain", `tainted ${hasTaints}`);
  }
  if (before.spec.unschedulable !== after.spec.unschedulable) {
    return after.spec.unschedulable === true
      ? event("plain", "marked as unschedulable")
      : event("good", "marked as schedulable");
  }
  return undefined;
}

/** Derives the event of a changed placement; undefined when the change is not worth showing. */
export function placementEvent(
  name: string,
  before: WorkloadPlacement | undefined,
  after: WorkloadPlacement | undefined,
): EventText | undefined {
  const event = (tone: EventText["tone"], message: string): EventText => ({ tone, subject: name, message });
  if (after === undefined) return event("plain", "deleted");
  if (after.metadata.deletionTimestamp !== undefined) {
    return before?.metadata.deletionTimestamp === undefined ? event("plain", "is being deleted") : undefined;
  }
  const [was, is] = [before, after].map((each) => findCondition(each?.status?.conditions, "Ready"));
  if (is === undefined) return undefined; // shown when it is decided
  const [had, has] = [before, after].map((each) => (each?.status?.selectedClusters ?? []).join(", "));
  if (was?.status === is.status && was.message === is.message && had === has) return undefined;
  const moved = had !== "" && had !== has && has !== "" ? `moved from ${had}: ` : "";
  // A placement that had no cluster before has not become worse.
  const tone = is.status === "True" ? "good" : was?.status === "False" && had === has ? "plain" : "bad";
  return event(tone, `${moved}${is.message}`);
}

/**
 * Derives the event of a workload from a change of its sync record; undefined when the change is not worth showing.
 * `placementOf` returns a placement as it is now.
 */
export function workloadEvent(
  before: WorkloadSync | undefined,
  after: WorkloadSync | undefined,
  placementOf: (name: string) => WorkloadPlacement | undefined,
): EventText | undefined {
  const { namespace = "" } = (after ?? before)?.metadata ?? {};
  const { kind = "", name = "" } = (after ?? before)?.spec.workload ?? {};
  const event = (tone: EventText["tone"], text: string): EventText => ({
    tone,
    subject: `${namespace}/${name}`,
    message: `${kind} ${text}`,
  });
  if (after === undefined) return event("plain", "deleted from all clusters");
  const [was, is] = [before, after].map((each) => findCondition(each?.status?.conditions, "Ready"));
  if (is === undefined || (was?.status === is.status && was.message === is.message)) return undefined;
  const { clusters = [] } = after.status ?? {};
  switch (is.reason) {
    case "Deleted":
      // The record is deleted next.
      return clusters.length === 0 ? undefined : event("plain", `is being deleted: ${is.message}`);
    case "NotPlaced":
      return event("plain", `is selected by no placement any more: ${is.message}`);
    case "NoCluster": {
      // The report can be older than the decision of the placement. The next one follows.
      const placement = placementOf(after.spec.placement ?? "");
      const isDecided = findCondition(placement?.status?.conditions, "Ready") !== undefined;
      if (!isDecided || (placement?.status?.selectedClusters ?? []).length > 0) return undefined;
    }
  }
  const isBad = clusters.some(({ state }) => state === "Failed" || state === "Held");
  return event(is.status === "True" ? "good" : isBad ? "bad" : "plain", is.message);
}

function readyText({ status }: ClusterRegistration): string {
  const { kubernetesVersion, nodes } = status ?? {};
  const details = [
    ...(kubernetesVersion === undefined ? [] : [kubernetesVersion]),
    ...(nodes === undefined ? [] : [`${nodes.ready} of ${nodes.total} nodes`]),
  ];
  return details.length === 0 ? "Ready" : `Ready: ${details.join(", ")}`;
}

function taintsText(registration: ClusterRegistration | undefined): string {
  return (registration?.spec.taints ?? []).map(({ key, effect }) => `${key}:${effect}`).join(", ");
}

export type RecordWatcherOptions = Readonly<{
  /** Returns all sync records; the same array while nothing has changed. */
  list: () => readonly WorkloadSync[];
  clock: Clock;
  /** Called for each sync record that was added, changed or deleted. */
  onChange: (before: WorkloadSync | undefined, after: WorkloadSync | undefined) => void;
}>;

/** Fast enough for a display; without a change a poll only compares two references. */
const pollIntervalMs = 100;

/** Reports changes of sync records until the returned function is called. */
export function watchRecords({ list, clock, onChange }: RecordWatcherOptions): () => void {
  let listed: readonly WorkloadSync[] = [];
  let known = new Map<string, WorkloadSync>();
  let cancel = (): void => {};
  const poll = (): void => {
    const present = list();
    if (present !== listed) {
      const next = new Map(present.map((record) => [`${record.metadata.namespace}/${record.metadata.name}`, record]));
      for (const [id, record] of next) if (known.get(id) !== record) onChange(known.get(id), record);
      for (const [id, record] of known) if (!next.has(id)) onChange(record, undefined);
      [listed, known] = [present, next];
    }
    cancel = clock.after(pollIntervalMs, poll);
  };
  poll();
  return () => cancel();
}

/** The recent events of the local environment, newest last. */
export interface EventLog {
  readonly events: readonly LocalEvent[];
  /** Adds an event that is not derived from an object. */
  append(event: Omit<LocalEvent, "timeMs">): void;
  stop(): void;
}

const maxEvents = 200;

/** Creates an event log that derives events from the changes of a cache. */
export function createEventLog(
  cache: Pick<ObjectCache, "onChange">,
  clock: Clock,
  onEvent: (event: LocalEvent) => void = () => {},
): EventLog {
  const lastObjects = new Map<string, KubeObject>();
  const events: LocalEvent[] = [];
  const append = (text: Omit<LocalEvent, "timeMs">): void => {
    const entry: LocalEvent = { timeMs: clock.now(), ...text };
    events.push(entry);
    if (events.length > maxEvents) events.shift();
    onEvent(entry);
  };
  const stop = cache.onChange(({ key, object }) => {
    const id = formatKey(key);
    const before = lastObjects.get(id);
    if (object === undefined) lastObjects.delete(id);
    else lastObjects.set(id, object);
    // The key states the kind of the object, and the server validates objects of that kind.
    const event =
      key.kind === "ClusterRegistration"
        ? clusterEvent(key.name, before as ClusterRegistration | undefined, object as ClusterRegistration | undefined)
        : placementEvent(key.name, before as WorkloadPlacement | undefined, object as WorkloadPlacement | undefined);
    if (event !== undefined) append(event);
  });
  return { events, append, stop };
}
