import { isDeepStrictEqual } from "node:util";
import { findCondition } from "../../lib/model/condition.ts";
import { formatKey } from "../../lib/model/key.ts";
import { ClusterLoad } from "../../lib/placement/cluster-load.ts";
import { decidePlacement } from "../../lib/placement/decide.ts";
import { defaultMassFailureSettings, massFailuresOfTenants } from "../../lib/placement/mass-failure.ts";
import { clusterFacts } from "../../lib/placement/observed.ts";
import type { SimulationEnvironment } from "./environment.ts";
import type { Rest } from "./monitor.ts";
import { keyOf, type Snapshot } from "./outcome.ts";
import { type ProcessView, registrationsKnownTo } from "./process-view.ts";
import type { Scenario } from "./scenario.ts";
import type { Seeded } from "./seeded.ts";
import type { Servers } from "./servers.ts";

/** Law 2: at rest nothing is written, and a cluster costs one probe per interval. */
export function checkRest(
  { monitor, settings, mode }: SimulationEnvironment,
  { writes, probes }: Rest,
  { tenants }: Snapshot,
  { restMs, finalStates }: Scenario,
): void {
  for (const write of writes) monitor.broken(2, `written at rest: ${write}`);
  const turns = restMs / 1000 / settings.heartbeatSeconds;
  // Workers that wait for clusters which do not answer make others late, and rounds that are late no longer meet.
  const isSlowed = Object.values(finalStates).some((state) => state === "hang" || state === "stuck");
  const late = isSlowed ? turns / 4 : 0;
  // A function does not know when another process probed last, so that a resync probes once more.
  const resyncs = mode === "functions" ? Math.ceil(restMs / 1000 / settings.resyncSeconds) + 1 : 0;
  for (const { cluster, registrations } of tenants) {
    for (const registration of registrations) {
      const key = formatKey(keyOf("ClusterRegistration", cluster, registration));
      const count = probes.get(key) ?? 0;
      const reason = findCondition(registration.status?.conditions, "Ready")?.reason ?? "";
      const isReachable = ["ClusterReady", "ClusterUnhealthy", "CredentialsRejected"].includes(reason);
      const [low, high] = isReachable
        ? [turns - 1 - late, turns + 1 + late + resyncs]
        : [0, turns + 1 + late + resyncs];
      if (count < low || count > high) {
        monitor.broken(2, `${key} (${reason}) was probed ${count} times in ${turns} intervals`);
      }
    }
  }
}

/** Law 5, once all is at rest: a cluster that is said to be Ready has been seen to be so within the time of damping. */
export function checkClaims({ monitor, settings }: SimulationEnvironment, { tenants, atMs }: Snapshot): void {
  const { failuresToUnready } = settings.registration;
  const windowMs = (failuresToUnready * settings.heartbeatSeconds + settings.reconcileSeconds) * 1000;
  for (const { cluster, registrations } of tenants) {
    for (const registration of registrations) {
      if (findCondition(registration.status?.conditions, "Ready")?.status !== "True") continue;
      const key = keyOf("ClusterRegistration", cluster, registration);
      const seenMs = monitor.lastSuccessMs(key);
      if (seenMs === undefined || atMs - seenMs > windowMs) {
        monitor.broken(5, `${formatKey(key)} is said to be Ready, but has not answered for ${atMs - (seenMs ?? 0)} ms`);
      }
      const heartbeatMs = Date.parse(registration.status?.lastHeartbeat ?? "");
      const oldestMs = settings.heartbeatWriteSeconds * 1000 + windowMs;
      if (!(heartbeatMs <= atMs) || atMs - heartbeatMs > oldestMs) {
        monitor.broken(5, `${formatKey(key)}: lastHeartbeat ${registration.status?.lastHeartbeat} is not of now`);
      }
    }
  }
}

/**
 * Law 6: what is stored is what the present facts give, in whatever order they come, byte for byte. Of a tenant that kcp does not
 * answer for, a process knows what it was told before, and its clusters count for the mass failures of all tenants.
 */
export function checkDecisions(
  {
    monitor,
    mode,
    servers,
    views,
  }: Pick<SimulationEnvironment, "mode" | "views"> &
    Readonly<{ monitor: Pick<SimulationEnvironment["monitor"], "broken">; servers: Pick<Servers, "tenants"> }>,
  { tenants, atMs }: Snapshot,
  seeded: Seeded,
): void {
  const answered = tenants.map(({ registrations }) => registrations.map(clusterFacts));
  const others = servers.tenants.filter((tenant) => !tenants.some(({ cluster }) => cluster === tenant));
  const seenBy = (view: ProcessView) => [
    ...answered,
    ...others.map((tenant) => registrationsKnownTo(view, tenant).map(clusterFacts)),
  ];
  // A function knows the clusters of one tenant.
  const seen = mode === "functions" ? [[]] : others.length === 0 ? [answered] : [...views].map(seenBy);
  const massFailures = seen.map((each) => massFailuresOfTenants(each, atMs, defaultMassFailureSettings));
  for (const { cluster, registrations, placements } of tenants) {
    const clusters = registrations.map(clusterFacts);
    const load = new ClusterLoad();
    load.update(placements);
    for (const placement of placements) {
      const key = formatKey(keyOf("WorkloadPlacement", cluster, placement));
      const name = placement.metadata.name ?? "";
      const usage = { load: load.excluding(name), reserved: load.reservedExcluding(name) };
      const decided = massFailures.map((massFailuresOfProcess) => {
        const facts = { placement, ...usage, massFailuresOfProcess, nowMs: atMs };
        const again = decidePlacement({ ...facts, clusters });
        const shuffled = decidePlacement({ ...facts, clusters: seeded.shuffled(clusters) });
        if (JSON.stringify(again) !== JSON.stringify(shuffled))
          monitor.broken(6, `${key}: the order of clusters matters`);
        return JSON.stringify(again.status);
      });
      if (!decided.some((status) => isDeepStrictEqual(JSON.parse(status), placement.status ?? {}))) {
        const stored = JSON.stringify(placement.status);
        monitor.broken(6, `${key}: stored is ${stored}; decided is ${decided.join(" or ")}`);
      }
    }
  }
}

/** A part of law 1: equal placements are dealt out evenly over the clusters that fit best. */
export function checkDeal({ monitor, mode }: SimulationEnvironment, { tenants }: Snapshot): void {
  // Each shard deals its own placements evenly, at the same time as the other one.
  const mostDifference = mode === "shards" ? 2 : 1;
  for (const { cluster, registrations, placements } of tenants) {
    const counts = new Map<string, number>();
    const [first] = placements;
    const fitting = (first?.status?.decisions ?? []).filter(
      ({ reason }) => reason === "Selected" || reason === "NotSelected",
    );
    const best = Math.max(...fitting.map(({ score }) => score ?? 0));
    for (const { cluster: name, score } of fitting) if ((score ?? 0) === best) counts.set(name, 0);
    let dealt = 0;
    for (const { metadata, status } of placements) {
      if (status?.decisions === undefined && registrations.length > 0) {
        monitor.broken(1, `${cluster}/${metadata.name} was never decided`);
      }
      for (const name of status?.selectedClusters ?? []) {
        dealt += 1;
        if (!counts.has(name))
          monitor.broken(1, `${cluster}/${metadata.name} was dealt ${name}, which is not the best`);
        counts.set(name, (counts.get(name) ?? 0) + 1);
      }
    }
    const shares = [...counts.values()];
    if (
      shares.length > 0 &&
      (Math.max(...shares) - Math.min(...shares) > mostDifference || dealt !== placements.length)
    ) {
      monitor.broken(
        1,
        `${cluster}: ${placements.length} equal placements were dealt out ${JSON.stringify([...counts])}`,
      );
    }
  }
}
