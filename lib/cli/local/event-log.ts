import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { formatKey } from "../../model/key.ts";
import type { ObjectCache } from "../../upstream/object-cache.ts";
import { clusterEvent, type LocalEvent, placementEvent } from "./events.ts";

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
