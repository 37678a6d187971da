import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey, type WorkKey } from "../model/key.ts";
import type { QueueEvent } from "../queue/queue-event.ts";
import { readableCause } from "../queue/retry-policy.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { EventSubject, HubEvents } from "../upstream/events.ts";

/**
 * What people hear of how the work on an object ended: that it was set aside, and why.
 *
 * What may pass is tried again and is nobody's news; a lasting fault is in the object's own status. What was not foreseen is
 * tried a few times more, and told only when that has not helped.
 */
export function eventOfEnd(event: QueueEvent): ObjectEvent | undefined {
  if (event.kind !== "ended" || event.outcome !== "dead-letter") return undefined;
  const message = `TMC has set it aside until it changes or is looked at anew: ${readableCause(event.error)}`;
  return { type: "Warning", reason: "ControllerError", message };
}

export type TellSetAsideOptions = Readonly<{
  events: Pick<HubEvents, "tell">;
  hub: Pick<Hub, "read">;
  /** @default workloads are not told about */
  workloads?: Pick<WorkloadHub, "read"> | undefined;
  clock: Clock;
  /** Hears of an object that could not be read; nothing else comes of it. */
  onTrouble: (error: unknown, key: WorkKey) => void;
}>;

/** Tells about objects whose work was set aside. */
export interface SetAsideTeller {
  /** Takes whatever happens in a queue. */
  take(event: QueueEvent): void;
  /** Resolves when all that was taken has been handed on or given up. */
  whenTaken(): Promise<void>;
}

/** An object that fails with each resync has other words each time, maybe: more often than this it is not told of. */
const quietMs = 10 * 60_000;
const mostRemembered = 4_096;
const readMs = 5_000;

/** Creates what tells people, by an Event beside the object, that the work on it was set aside. */
export function createSetAsideTeller(options: TellSetAsideOptions): SetAsideTeller {
  const { events, hub, workloads, clock, onTrouble } = options;
  /** When each object was last told of, longest ago first. */
  const toldMs = new Map<string, number>();
  const underWay = new Set<Promise<void>>();

  const isNew = (key: WorkKey): boolean => {
    const [id, nowMs] = [formatKey(key), clock.now()];
    if (nowMs - (toldMs.get(id) ?? Number.NEGATIVE_INFINITY) < quietMs) return false;
    toldMs.delete(id);
    const [oldest] = toldMs.keys();
    if (toldMs.size >= mostRemembered && oldest !== undefined) toldMs.delete(oldest);
    toldMs.set(id, nowMs);
    return true;
  };
  const find = async (key: WorkKey): Promise<EventSubject | undefined> => {
    const deadline = createDeadline(clock, { signal: undefined, timeoutMs: readMs });
    try {
      if (key.kind === "Workload") return await workloads?.read(key, deadline.signal);
      return await hub.read(key, deadline.signal);
    } finally {
      deadline.end();
    }
  };
  const tell = async (key: WorkKey, event: ObjectEvent): Promise<void> => {
    const about = await find(key);
    if (about !== undefined) events.tell(key, about, event);
  };

  return {
    take: (happened) => {
      const event = eventOfEnd(happened);
      if (event === undefined || happened.kind !== "ended" || !isNew(happened.item.key)) return;
      const { key } = happened.item;
      const telling = tell(key, event)
        .catch((error: unknown) => onTrouble(error, key))
        .finally(() => underWay.delete(telling));
      underWay.add(telling);
    },
    whenTaken: async () => {
      await Promise.all(underWay);
    },
  };
}
