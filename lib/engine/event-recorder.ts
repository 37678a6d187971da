import type { Log } from "../observe/log.ts";
import type { Metrics } from "../observe/metrics.ts";
import { createHubEvents, type HubEvents, type HubEventsOptions } from "../upstream/events.ts";
import { createSetAsideTeller, type SetAsideTeller, type TellSetAsideOptions } from "./dead-letter-events.ts";

/** Tells people what TMC finds out about clusters, and what it could not do, by Events beside the objects. */
export type News = Pick<HubEvents, "tell" | "whenTold"> & Pick<SetAsideTeller, "take">;

export type NewsOptions = Pick<HubEventsOptions, "client" | "clock"> &
  Pick<TellSetAsideOptions, "hub" | "workloads"> &
  Readonly<{ log: Pick<Log, "debug">; metrics: Pick<Metrics, "add"> }>;

/** Creates what tells people; the same in one process and in functions. That an Event cannot be written stops no work. */
export function createNews({ client, clock, hub, workloads, log, metrics }: NewsOptions): News {
  // Nothing depends on it, and a tenant need not let us.
  const onTrouble = (
    error: unknown,
    { logicalCluster, name }: Readonly<{ logicalCluster: string; name: string }>,
  ): void => log.debug("event not written", { logicalCluster, name, error });
  const events = createHubEvents({
    client,
    clock,
    onTrouble,
    onWrite: ({ kind }) => {
      if (kind !== undefined) metrics.add("tmc_upstream_writes_total", { kind, part: "event" });
    },
  });
  const setAside = createSetAsideTeller({ events, hub, workloads, clock, onTrouble });
  return {
    tell: events.tell,
    take: setAside.take,
    whenTold: async () => {
      await setAside.whenTaken();
      await events.whenTold();
    },
  };
}
