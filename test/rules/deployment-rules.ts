import type { Rule } from "./rule.ts";

const blindRelay = "a relay that cannot see kcp is healthy and silent, and changes wait for the resync";
const unfinishedResync = "a resync stops unfinished and reports success";
const blockedKey = "a key whose function ended without a result blocks its newer changes, or becomes a dead letter";

/** Rules of the deployed form: what stands between a failure that nobody sees and its alarm. */
export const deploymentRules: readonly Rule[] = [
  {
    incident: blindRelay,
    rule: "a relay reports for how long a watch has failed",
    simulation: "not visible: a run reads no health of the process",
    removals: [
      {
        file: "lib/relay/observe/liveness.ts",
        text: "failingSinceMs.set(watch, failingSinceMs.get(watch) ?? clock.monotonicMs());",
        without: "",
      },
    ],
    test: {
      file: "test/lib/relay/observe/health-and-metrics.test.ts",
      titles: [
        "blindness",
        "WatchLiveness counts from the first failure of a watch until the watch works again, whatever other watches do",
      ],
    },
  },
  {
    incident: blindRelay,
    rule: "a stalled connection counts as blind before the process is restarted for it",
    simulation: "not visible: a run reads no health of the process",
    removals: [
      {
        file: "lib/relay/observe/liveness.ts",
        text: "return [...failing, ...silent].reduce(",
        without: "return [...failing].reduce(",
      },
    ],
    test: {
      file: "test/lib/relay/observe/health-and-metrics.test.ts",
      titles: [
        "blindness",
        "WatchLiveness counts a watch whose connection is stalled: the server would have ended it within five minutes",
      ],
    },
  },
  {
    incident: blindRelay,
    rule: "a process passes its startup check only after it was ready once",
    simulation: "not visible: a run reads no health of the process",
    removals: [
      {
        file: "lib/observe/health.ts",
        text: `health.report(wasReady ? "live" : "ready")`,
        without: `health.report("live")`,
      },
    ],
    test: {
      file: "test/lib/observe/health.test.ts",
      titles: [
        "/startupz",
        "fails until the process is ready for the first time, and then only if the process is not live",
      ],
    },
  },
  {
    incident: blindRelay,
    rule: "a relay that still waits for the upstream is not ready",
    simulation: "not visible: a run reads no health of the process",
    removals: [
      {
        file: "lib/relay/service/run-relay.ts",
        text: `const startCheck = health.register("started");`,
        without: `const startCheck = health.register("started");\n    startCheck.pass();`,
      },
    ],
    test: {
      file: "test/lib/relay/service/run-relay.test.ts",
      titles: [
        "a relay program for %s that never reaches kcp is live, blind, and does not pass the health check of a deployment",
      ],
      rows: ["all tenants of an export"],
    },
  },
  {
    incident: unfinishedResync,
    rule: "a resync that runs out of time continues in another invocation",
    simulation: "not visible: a run has no functions",
    removals: [
      {
        file: "lib/lambda/resync.ts",
        text: "const isContinued = walk.rest !== undefined && !isLate;",
        without: "const isContinued = false;",
      },
    ],
    test: {
      file: "test/functions/resync.test.ts",
      titles: ["a resync that runs out of time continues where it stopped, and reports at its end"],
    },
  },
  {
    incident: unfinishedResync,
    rule: "a resync continues with the workspaces that it has not begun",
    simulation: "not visible: a run has no functions",
    removals: [
      {
        file: "lib/lambda/resync-keys.ts",
        text: "...sources.filter((source) => source > from.after).map(begin),",
        without: "",
      },
    ],
    test: {
      file: "test/lib/lambda/resync-keys.test.ts",
      titles: ["walkResync", "begins the sources that an earlier invocation did not reach"],
    },
  },
  {
    incident: unfinishedResync,
    rule: "a resync continues at the page where it stopped",
    simulation: "not visible: a run has no functions",
    removals: [
      {
        file: "lib/lambda/resync-keys.ts",
        text: "read(list === place.list ? place.token : undefined);",
        without: "read(undefined);",
      },
    ],
    test: {
      file: "test/lib/lambda/resync-keys.test.ts",
      titles: ["walkResync", "without sync sends registrations and placements only, each once"],
    },
  },
  {
    incident: unfinishedResync,
    rule: "a workspace that cannot be listed counts as left",
    simulation: "not visible: a run has no functions",
    removals: [
      {
        file: "lib/lambda/resync.ts",
        text: "const left = failed + (walk.rest?.sources ?? 0);",
        without: "const left = walk.rest?.sources ?? 0;",
      },
    ],
    test: {
      file: "test/functions/resync.test.ts",
      titles: ["resync continues if one workspace cannot be read"],
    },
  },
  {
    incident: blockedKey,
    rule: "a key that was cut off is visible at once",
    simulation: "not visible: a run has no functions",
    removals: [
      { file: "lib/lambda/reconcile.ts", text: "await release(event, result.failed, signal.aborted);", without: "" },
    ],
    test: {
      file: "test/functions/reconcile.test.ts",
      titles: ["reconcile returns the unfinished messages before its timeout"],
    },
  },
  {
    incident: blockedKey,
    rule: "five receives without a result are one failure of the key",
    simulation: "not visible: a run has no functions",
    removals: [
      {
        file: "lib/queue/batch.ts",
        text: "if (receives > receivesPerFailure) throw",
        without: "if (receives > Number.POSITIVE_INFINITY) throw",
      },
    ],
    test: {
      file: "test/lib/queue/batch.test.ts",
      titles: [
        "the batch runner",
        "a message that was received more than five times without a result",
        "is dead-lettered after five such failures, with the reason",
      ],
    },
  },
  {
    incident: blockedKey,
    rule: "a heartbeat that kills its function is not dropped as late before it is dead-lettered",
    simulation: "not visible: a run has no functions",
    removals: [
      {
        file: "lib/lambda/probe.ts",
        text: "lateSeconds > intervalSeconds && receives <= 1",
        without: "lateSeconds > intervalSeconds",
      },
    ],
    test: {
      file: "test/functions/heartbeat.test.ts",
      titles: [
        "the probe function",
        "probe does not drop a late heartbeat that is delivered again, so that one that kills the function is dead-lettered",
      ],
    },
  },
  {
    incident:
      "a placement gets no status in functions, because the binding of its tenant does not offer some workload type",
    rule: "a type that the binding does not offer has no objects",
    removals: [
      {
        file: "lib/upstream/workload-requests.ts",
        text: "const isNotBound = error instanceof ClaimNotAccepted && !isClaimable(type);",
        without: "const isNotBound = false;",
      },
    ],
    test: {
      file: "test/lib/upstream/fresh-workload-hub.test.ts",
      titles: [
        "a type that the binding of a tenant does not offer has no objects, but a claim that is not accepted is an error",
      ],
    },
  },
];
