import type { NamedTest, Rule } from "./rule.ts";

const controller = (...titles: readonly string[]): NamedTest => ({
  file: "test/lib/controller/controller.test.ts",
  titles: ["a wall clock that is set back by two hours", ...titles],
});

const setBack = "a clock that is set back stops heartbeats, and a failed cluster stays Ready";

const orphans = (title: string): NamedTest => ({
  file: "test/lib/sync/orphans.test.ts",
  titles: ["orphanReconciler", title],
});
const orphaned = "copies of deleted workloads run on unnoticed, or are deleted without a user's decision";

/** Rules that keep TMC observing clusters and what is on them. */
export const observationRules: readonly Rule[] = [
  {
    incident: setBack,
    rule: "heartbeats and resyncs follow a monotonic clock",
    removals: [
      {
        file: "lib/engine/spread-schedule.ts",
        text: "const elapsedMs = (): number => clock.monotonicMs();",
        without: "const elapsedMs = (): number => clock.now();",
      },
    ],
    test: controller(
      "heartbeats go on after the clock was set back: a cluster that fails then loses Ready, and its placement moves",
    ),
  },
  {
    incident: setBack,
    rule: "a nextProbeTime that is further ahead than one period does not stop heartbeats",
    removals: [
      {
        file: "lib/registration/due.ts",
        text: "return waitMs <= periodSeconds * 500 || !isBelievedWait(waitMs, periodSeconds);",
        without: "return waitMs <= periodSeconds * 500;",
      },
    ],
    test: {
      file: "test/lib/registration/due.test.ts",
      titles: ["isHeartbeatDue with a period of 60 seconds", "%s"],
      rows: ["sends a heartbeat if nextProbeTime is further ahead than the period, as after a clock was set back"],
    },
  },
  {
    incident: "a clock that is set back prolongs the time for which a failed cluster is tolerated",
    rule: "a toleration that starts in the future starts now",
    removals: [
      {
        file: "lib/placement/retention.ts",
        text: "ms <= nowMs + maxClockSkewMs;",
        without: "ms <= nowMs + maxClockSkewMs || true;",
      },
    ],
    test: controller(
      "a placement leaves a cluster that failed before the clock was set back after its toleration, not two hours later",
    ),
  },
  {
    incident: orphaned,
    rule: "a copy without a workload and a sync record is reported, and deleted only after a confirmation",
    removals: [
      {
        file: "lib/sync/orphans/reconcile.ts",
        text: "if (orphans.length === 0 || orphans.length > confirmedCount) return done;",
        without: "if (orphans.length === 0) return done;",
      },
    ],
    test: orphans("counts a copy whose workload and sync record are gone, and deletes nothing"),
  },
  {
    incident: orphaned,
    rule: "a sync record that the cache does not show still accounts for a copy",
    removals: [
      {
        file: "lib/sync/orphans/reconcile.ts",
        text: "if (!isUnaccountedFor(records, key.name)(object)) return false;",
        without: "",
      },
    ],
    test: orphans("does not count a copy whose workload exists, or whose sync record the cache did not show"),
  },
  {
    incident: orphaned,
    rule: "the upstream is asked again right before a confirmed copy is deleted",
    removals: [
      {
        file: "lib/sync/orphans/reconcile.ts",
        text: "if (!orphan.isDeleting && (await isStillOrphaned(tools, { key, object: orphan, records }, signal))) {",
        without: "if (!orphan.isDeleting && records !== undefined) {",
      },
    ],
    test: orphans("keeps a confirmed copy whose workload is created again before its deletion"),
  },
  {
    incident: orphaned,
    rule: "a copy on a cluster that its placement selects is not orphaned",
    removals: [
      {
        file: "lib/sync/orphans/decide.ts",
        text: "return !decideIntent({ workload, record, placement, references: [] }).targets.some(isHere);",
        without: "return !decideIntent({ workload, record, placement, references: [] }).heldClusters.some(isHere);",
      },
    ],
    test: orphans("keeps a confirmed copy whose workload is placed on the cluster before its deletion"),
  },
  {
    incident: "tmc orphans --delete deletes the data that a move left behind",
    rule: "a claim of a workload that exists is not orphaned",
    removals: [
      {
        file: "lib/sync/orphans/decide.ts",
        text: 'if (mayBeNeeded || owner.kind === "PersistentVolumeClaim") return false;',
        without: "if (mayBeNeeded) return false;",
      },
    ],
    test: {
      file: "test/lib/sync/orphans.test.ts",
      titles: ["the decision on one object", "isOrphaned %s"],
      rows: ["is false for a claim that a move left behind"],
    },
  },
  {
    incident: "a controller with a shard places workloads on a cluster of another shard whose registration is gone",
    rule: "every shard reads an object that a list lacked",
    removals: [
      {
        file: "lib/sources/shard.ts",
        text: 'if (key.kind !== "Workload" && cache.isStale(key)) return true;',
        without: "",
      },
    ],
    test: {
      file: "test/lib/controller/shards.test.ts",
      titles: [
        "the shard of a key",
        "the key of an object that a list lacked belongs to every shard, so that each one reads whether it is gone",
      ],
    },
  },
];
