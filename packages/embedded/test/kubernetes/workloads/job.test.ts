import { describe, expect, test } from "vitest";
import type { Job, Pod } from "../../../src/kubernetes/kinds.ts";
import { formatTime } from "../../../src/kubernetes/kinds.ts";
import {
  decideJob,
  formatIndexes,
  type JobPlan,
  parseIndexes,
  trackingFinalizer,
} from "../../../src/kubernetes/workloads/job.ts";

import { aJob, aPod, noon } from "../builders.ts";

const time = formatTime(noon);
const ended = (name: string, phase: "Succeeded" | "Failed", index?: number): Pod =>
  aPod(name, {
    metadata: {
      finalizers: [trackingFinalizer],
      ...(index === undefined ? {} : { annotations: { "batch.kubernetes.io/job-completion-index": String(index) } }),
    },
    status: {
      phase,
      containerStatuses: [
        {
          name: "c",
          image: "job:1",
          imageID: "",
          ready: false,
          restartCount: 0,
          lastState: {},
          state: { terminated: { exitCode: phase === "Failed" ? 1 : 0, reason: "", finishedAt: time } },
        },
      ],
    },
  });
const counted = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, finalizers: [] } });
const running = (name: string): Pod => aPod(name, { metadata: { finalizers: [trackingFinalizer] } });
const decide = (job: Job, pods: Pod[], now = noon): JobPlan => decideJob({ job, pods, now });
const conditions = (plan: JobPlan) => plan.status.conditions?.map(({ type, status, reason }) => [type, status, reason]);

describe("the pods that a job creates", () => {
  const rows: Record<string, { job: Job; pods: Pod[]; create: number }> = {
    "one at a time unless told otherwise": { job: aJob({ spec: { completions: 3 } }), pods: [], create: 1 },
    "as many at once as may run": { job: aJob({ spec: { completions: 5, parallelism: 2 } }), pods: [], create: 2 },
    "no more than are still needed": {
      job: aJob({ spec: { completions: 3, parallelism: 3 }, status: { succeeded: 2, startTime: time } }),
      pods: [],
      create: 1,
    },
    "the next when one has succeeded": {
      job: aJob({ spec: { completions: 2 } }),
      pods: [ended("a", "Succeeded")],
      create: 1,
    },
    "none while one runs": { job: aJob(), pods: [running("a")], create: 0 },
    "none while it is suspended": { job: aJob({ spec: { suspend: true } }), pods: [], create: 0 },
    "none at once after a failure": { job: aJob(), pods: [ended("a", "Failed")], create: 0 },
  };
  test.each(Object.entries(rows))("%s", (_, { job, pods, create }) => {
    expect(decide(job, pods).create).toHaveLength(create);
  });

  test("wait ten seconds after a failure, then twice as long", () => {
    expect(decide(aJob(), [ended("a", "Failed")]).nextMs).toBe(10_000);
    expect(decide(aJob(), [ended("a", "Failed")], noon + 10_000).create).toHaveLength(1);
    const second = aJob({ status: { failed: 1, startTime: time } });
    expect(decide(second, [counted(ended("a", "Failed")), ended("b", "Failed")]).nextMs).toBe(20_000);
  });
  test("have the indexes that are neither finished nor running", () => {
    const job = aJob({
      spec: { completions: 4, parallelism: 4, completionMode: "Indexed" },
      status: { completedIndexes: "0", startTime: time },
    });
    const plan = decide(job, [ended("a", "Succeeded", 2)]);
    expect(plan.create).toEqual([{ index: 1 }, { index: 3 }]);
    expect(plan.status).toMatchObject({ completedIndexes: "0,2", succeeded: 2 });
  });
});

describe("the end of a job", () => {
  test("is Complete when enough pods have succeeded, with the status of a real one", () => {
    const plan = decide(aJob({ status: { startTime: time } }), [ended("a", "Succeeded")], noon + 2000);
    const at = formatTime(noon + 2000);
    const condition = {
      status: "True",
      reason: "CompletionsReached",
      message: "Reached expected number of succeeded pods",
      lastProbeTime: at,
      lastTransitionTime: at,
    };
    expect(plan.status).toEqual({
      startTime: time,
      completionTime: at,
      ready: 0,
      succeeded: 1,
      terminating: 0,
      uncountedTerminatedPods: {},
      conditions: [
        { type: "SuccessCriteriaMet", ...condition },
        { type: "Complete", ...condition },
      ],
    });
    expect(plan.release.map((pod) => pod.metadata.name)).toEqual(["a"]);
  });
  test("is Failed when more pods have failed than backoffLimit", () => {
    const plan = decide(aJob({ status: { failed: 2, startTime: time } }), [ended("c", "Failed")]);
    expect(conditions(plan)).toEqual([
      ["FailureTarget", "True", "BackoffLimitExceeded"],
      ["Failed", "True", "BackoffLimitExceeded"],
    ]);
  });
  test("is Failed with its pods deleted when its deadline has passed", () => {
    const plan = decide(
      aJob({ spec: { activeDeadlineSeconds: 5 }, status: { startTime: time } }),
      [running("a")],
      noon + 5000,
    );
    expect(conditions(plan)?.at(-1)).toEqual(["Failed", "True", "DeadlineExceeded"]);
    expect(plan.remove.map((pod) => pod.metadata.name)).toEqual(["a"]);
  });
  test("is followed by its deletion after ttlSecondsAfterFinished", () => {
    const done = decide(aJob({ spec: { ttlSecondsAfterFinished: 10 } }), [ended("a", "Succeeded")]).status;
    const job = aJob({ spec: { ttlSecondsAfterFinished: 10 }, status: done });
    expect(decide(job, [])).toMatchObject({ expired: false, nextMs: 10_000 });
    expect(decide(job, [], noon + 10_000).expired).toBe(true);
  });
});

describe("counting the pods of a job", () => {
  test("counts a pod once, whether it still exists or was deleted", () => {
    const job = aJob({ spec: { completions: 3 }, status: { succeeded: 1, startTime: time } });
    expect(decide(job, [counted(ended("a", "Succeeded"))]).status.succeeded).toBe(1);
    expect(decide(job, []).status.succeeded).toBe(1);
  });
  test("deletes running pods on suspension and sets the condition", () => {
    const plan = decide(aJob({ spec: { suspend: true } }), [running("a")]);
    expect(plan.remove).toHaveLength(1);
    expect(conditions(plan)).toEqual([["Suspended", "True", "JobSuspended"]]);
    const resumed = decide(aJob({ status: plan.status }), []);
    expect(conditions(resumed)).toEqual([["Suspended", "False", "JobResumed"]]);
    expect(resumed.create).toHaveLength(1);
  });
});

describe("completed indexes are formatted as ranges", () => {
  test.each([
    ["", []],
    ["0", [0]],
    ["0,1", [0, 1]],
    ["0-2,5", [0, 1, 2, 5]],
  ] as const)("%j", (text, indexes) => {
    expect(formatIndexes(indexes)).toBe(text);
    expect(parseIndexes(text)).toEqual(indexes);
  });
});
