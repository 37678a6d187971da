import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { expect, test } from "vitest";
import { createHeartbeat } from "../../../lib/controller/periodic.ts";
import { createResync } from "../../../lib/controller/resync.ts";
import { createSpreadSchedule } from "../../../lib/engine/spread-schedule.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { createObjectCache } from "../../../lib/upstream/object-cache.ts";

const keysOf = (count: number): ObjectKey[] =>
  Array.from({ length: count }, (_, index) => ({
    logicalCluster: "2x7k",
    kind: "WorkloadPlacement",
    name: `p-${index}`,
  }));

function aSchedule(periodSeconds: number, keys: readonly ObjectKey[]) {
  const clock = createManualClock(0);
  const turns: { atSeconds: number; names: string[] }[] = [];
  const schedule = createSpreadSchedule({
    periodSeconds,
    clock,
    keys: () => keys,
    onDue: (due) => turns.push({ atSeconds: clock.now() / 1000, names: due.map(({ name }) => name) }),
  });
  schedule.start();
  return { clock, turns, schedule };
}

test.each([1, 7, 30, 600])("every key is due exactly once in a period of %i s", (periodSeconds) => {
  const { clock, turns } = aSchedule(periodSeconds, keysOf(500));
  for (let period = 1; period <= 3; period++) {
    turns.length = 0;
    clock.advance(periodSeconds * 1000);
    const names = turns.flatMap((turn) => turn.names);
    expect(names.toSorted()).toEqual(
      keysOf(500)
        .map(({ name }) => name)
        .toSorted(),
    );
  }
});

test("due keys are spread evenly over the period", () => {
  const { clock, turns } = aSchedule(30, keysOf(3_000));
  clock.advance(30_000);
  expect(turns).toHaveLength(30);
  expect(Math.max(...turns.map(({ names }) => names.length))).toBeLessThan(200);
});

test("a key is due at the same time of every period", () => {
  const { clock, turns } = aSchedule(30, keysOf(50));
  clock.advance(120_000);
  const times = turns.filter(({ names }) => names.includes("p-7")).map(({ atSeconds }) => atSeconds);
  expect(times.map((at, index) => at - (times[index - 1] ?? at - 30))).toEqual([30, 30, 30, 30]);
});

test("keys stay due at the same pace after the wall clock was set back by two hours", () => {
  const { clock, turns } = aSchedule(30, keysOf(500));
  clock.advance(45_000);
  clock.setBack(7_200_000);
  turns.length = 0;
  clock.advance(30_000);
  expect(turns.flatMap(({ names }) => names)).toHaveLength(500);
});

test("a stopped schedule has no timer, and no key is due", () => {
  const { clock, turns, schedule } = aSchedule(30, keysOf(50));
  schedule.stop();
  clock.advance(120_000);
  expect([turns.length, clock.pending]).toEqual([0, 0]);
});

function aCache() {
  const cache = createObjectCache();
  const object = (kind: string, name: string, status?: object): KubeObject => ({
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind,
    metadata: { name, resourceVersion: "1" },
    ...(status === undefined ? {} : { status }),
  });
  cache.replace("ClusterRegistration", "listed", [
    object("ClusterRegistration", "east"),
    object("ClusterRegistration", "broken", { nextProbeTime: "1970-01-01T00:00:40Z" }),
    object("ClusterRegistration", "misdated", { nextProbeTime: "1970-01-01T02:00:00Z" }),
  ]);
  cache.replace("WorkloadPlacement", "listed", [object("WorkloadPlacement", "web")]);
  cache.replace("ClusterRegistration", "half", [object("ClusterRegistration", "unseen")]);
  return cache;
}

function sent(create: typeof createHeartbeat) {
  const clock = createManualClock(0);
  const items: WorkItem[] = [];
  const queue = { send: async (added: readonly WorkItem[]) => void items.push(...added) };
  create({ periodSeconds: 30, cache: aCache(), queue, clock }).start();
  return (ms: number): string[] => {
    items.length = 0;
    clock.advance(ms);
    return items.map(({ key, reason }) => `${reason} ${key.name}`).toSorted();
  };
}

test("the heartbeat enqueues clusters that are due in logical clusters that are listed completely", () => {
  const after = sent(createHeartbeat);
  expect(after(30_000)).toEqual(["heartbeat east", "heartbeat misdated"]);
  expect(after(30_000)).toEqual(["heartbeat broken", "heartbeat east", "heartbeat misdated"]);
});

test("the resync enqueues all objects of logical clusters that are listed completely", () => {
  const after = sent(createResync);
  expect(after(30_000)).toEqual(["resync broken", "resync east", "resync misdated", "resync web"]);
});
