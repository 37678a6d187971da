import { describe, expect, test } from "vitest";
import type { CronJob, Job } from "../../../src/kubernetes/kinds.ts";
import { formatTime } from "../../../src/kubernetes/kinds.ts";
import { decideCronJob, referenceTo } from "../../../src/kubernetes/workloads/cron-job.ts";
import { aCronJob, aJob, noon } from "../builders.ts";

const minutes = (count: number): number => noon + count * 60_000;
const job = (name: string, end?: "Complete" | "Failed", start = 0): Job =>
  aJob({
    metadata: { name, uid: `uid-${name}` },
    status: {
      startTime: formatTime(minutes(start)),
      ...(end === undefined ? {} : { conditions: [{ type: end, status: "True" }] }),
      ...(end === "Complete" ? { completionTime: formatTime(minutes(start) + 1000) } : {}),
    },
  });
const decide = (cronJob: CronJob, jobs: Job[], now: number) => decideCronJob({ cronJob, jobs, now });

describe("a job that a cron job starts", () => {
  const spec = (own: Partial<CronJob["spec"]>) => aCronJob({ spec: own });
  const rows: Record<string, { cronJob: CronJob; jobs?: Job[]; now: number; starts: boolean }> = {
    "not before its time": { cronJob: aCronJob(), now: minutes(4), starts: false },
    "when its time has come": { cronJob: aCronJob(), now: minutes(5), starts: true },
    "not again for the same time": {
      cronJob: aCronJob({ status: { lastScheduleTime: formatTime(minutes(5)) } }),
      now: minutes(6),
      starts: false,
    },
    "not while it is suspended": { cronJob: spec({ suspend: true }), now: minutes(5), starts: false },
    "not beside another where that is forbidden": {
      cronJob: spec({ concurrencyPolicy: "Forbid" }),
      jobs: [job("running")],
      now: minutes(5),
      starts: false,
    },
    "beside another where that is allowed": {
      cronJob: spec({ concurrencyPolicy: "Allow" }),
      jobs: [job("running")],
      now: minutes(5),
      starts: true,
    },
    "not when it is too late": { cronJob: spec({ startingDeadlineSeconds: 30 }), now: minutes(6), starts: false },
  };
  test.each(Object.entries(rows))("%s", (_, { cronJob, jobs = [], now, starts }) => {
    expect(decide(cronJob, jobs, now).create !== undefined).toBe(starts);
  });

  test("is named after its scheduled minute, and has an owner and the scheduled time", () => {
    const { create, status } = decide(aCronJob(), [], minutes(5) + 7000);
    expect(create?.metadata).toMatchObject({
      name: `tick-${minutes(5) / 60_000}`,
      annotations: { "batch.kubernetes.io/cronjob-scheduled-timestamp": formatTime(minutes(5)) },
      ownerReferences: [{ kind: "CronJob", name: "tick" }],
    });
    expect(status.lastScheduleTime).toBe(formatTime(minutes(5)));
  });
  test("is started only once for several missed times", () => {
    expect(decide(aCronJob(), [], minutes(17)).create?.metadata.name).toBe(`tick-${minutes(15) / 60_000}`);
  });
  test("replaces a running one with concurrencyPolicy Replace", () => {
    const plan = decide(aCronJob({ spec: { concurrencyPolicy: "Replace" } }), [job("running")], minutes(5));
    expect(plan.remove.map((each) => each.metadata.name)).toEqual(["running"]);
    expect(plan.create).toBeDefined();
  });
  test("is followed by a reconcile at the next scheduled time", () => {
    expect(decide(aCronJob(), [], minutes(4)).nextMs).toBe(60_000);
  });
});

describe("the status of a cron job", () => {
  test("keeps as many finished jobs as its history limits", () => {
    const done = [1, 2, 3, 4, 5].map((number) => job(`done-${number}`, "Complete", number));
    const failed = [1, 2].map((number) => job(`failed-${number}`, "Failed", number));
    const { remove } = decide(aCronJob({ spec: { suspend: true } }), [...done, ...failed], minutes(9));
    expect(remove.map((each) => each.metadata.name)).toEqual(["done-2", "done-1", "failed-1"]);
  });
  test("has its running jobs and its last success", () => {
    const running = job("running");
    const first = { ...referenceTo(running), resourceVersion: "7" };
    const cronJob = aCronJob({ spec: { suspend: true }, status: { active: [first] } });
    const { status } = decide(cronJob, [running, job("done", "Complete", 3)], minutes(4));
    expect(status).toEqual({ active: [first], lastSuccessfulTime: formatTime(minutes(3) + 1000) });
  });
});
