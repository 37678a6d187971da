import type { CronJob, CronJobStatus, Job } from "../kinds.ts";
import { controllerReference, formatTime, parseTime } from "../kinds.ts";
import type { Draft, EventContent } from "../world.ts";
import { nextTime, parseSchedule } from "./cron-schedule.ts";
import { resultOf } from "./job.ts";

export type CronJobFacts = Readonly<{ cronJob: CronJob; jobs: readonly Job[]; now: number }>;
export type CronJobPlan = Readonly<{
  create: Draft | undefined;
  remove: readonly Job[];
  /** Without the job in `create`, whose reference is known only after its creation. */
  status: CronJobStatus;
  events: readonly EventContent[];
  nextMs: number | undefined;
}>;

const cronJobEvent = (type: EventContent["type"], reason: string, message: string): EventContent => ({
  type,
  reason,
  message,
  source: "cronjob-controller",
});

/** Decides whether a cron job must create a job now, and which old jobs to delete. */
export function decideCronJob({ cronJob, jobs, now }: CronJobFacts): CronJobPlan {
  const { spec } = cronJob;
  const before = cronJob.status ?? {};
  const events: EventContent[] = [];
  const running = jobs.filter((job) => resultOf(job) === undefined && job.metadata.deletionTimestamp === undefined);
  // References stay as they were first recorded; changes of a job must not change the cron job's status.
  const known = new Map(before.active?.map((reference) => [reference.uid, reference]));
  for (const job of jobs.filter((each) => resultOf(each) !== undefined && known.has(each.metadata.uid))) {
    events.push(
      cronJobEvent(
        "Normal",
        "SawCompletedJob",
        `Saw completed job: ${job.metadata.name}, condition: ${resultOf(job) ?? ""}`,
      ),
    );
  }
  const successes = jobs.flatMap((job) => (resultOf(job) === "Complete" ? (job.status?.completionTime ?? []) : []));
  const lastSuccessfulTime = [before.lastSuccessfulTime ?? "", ...successes].toSorted().at(-1);
  const status: CronJobStatus = {
    ...(running.length === 0 ? {} : { active: running.map((job) => known.get(job.metadata.uid) ?? referenceTo(job)) }),
    ...(before.lastScheduleTime === undefined ? {} : { lastScheduleTime: before.lastScheduleTime }),
    ...(lastSuccessfulTime === undefined || lastSuccessfulTime === "" ? {} : { lastSuccessfulTime }),
  };
  const remove = outdated(cronJob, jobs);
  const idle = { create: undefined, remove, status, events };
  if (cronJob.metadata.deletionTimestamp !== undefined || spec.suspend === true) return { ...idle, nextMs: undefined };

  const schedule = parseSchedule(spec.schedule);
  const since = parseTime(before.lastScheduleTime ?? cronJob.metadata.creationTimestamp);
  const due = latestDue(schedule, since, now);
  const next = nextTime(schedule, now);
  const nextMs = next === undefined ? undefined : next - now;
  if (due === undefined) return { ...idle, nextMs };
  if (spec.startingDeadlineSeconds !== undefined && due + spec.startingDeadlineSeconds * 1000 < now) {
    events.push(cronJobEvent("Warning", "MissSchedule", `Missed scheduled time to start a job: ${formatTime(due)}`));
    return { ...idle, nextMs };
  }
  if (spec.concurrencyPolicy === "Forbid" && running.length > 0) {
    events.push(
      cronJobEvent(
        "Normal",
        "JobAlreadyActive",
        "Not starting job because prior execution is running and concurrency policy is Forbid",
      ),
    );
    return { ...idle, nextMs };
  }
  const replaced = spec.concurrencyPolicy === "Replace" ? running : [];
  return {
    create: jobFor(cronJob, due),
    remove: [...remove, ...replaced],
    status: { ...status, lastScheduleTime: formatTime(due) },
    events,
    nextMs,
  };
}

export function referenceTo(job: Job): NonNullable<CronJobStatus["active"]>[number] {
  const { name, namespace, uid, resourceVersion } = job.metadata;
  return {
    apiVersion: job.apiVersion,
    kind: job.kind,
    name,
    uid,
    ...(namespace === undefined ? {} : { namespace }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
}

/** The latest scheduled time that has passed without a job; earlier ones are skipped. */
function latestDue(schedule: ReturnType<typeof parseSchedule>, since: number, now: number): number | undefined {
  let due: number | undefined;
  // After a long pause, only the last two days are searched for missed times.
  const from = Math.max(since, now - 86_400_000 * 2);
  for (let at = nextTime(schedule, from); at !== undefined && at <= now; at = nextTime(schedule, at)) due = at;
  return due;
}

function outdated({ spec }: CronJob, jobs: readonly Job[]): readonly Job[] {
  const beyond = (end: "Complete" | "Failed", limit: number): Job[] =>
    jobs
      .filter((job) => resultOf(job) === end && job.metadata.deletionTimestamp === undefined)
      .toSorted((a, b) => (b.status?.startTime ?? "").localeCompare(a.status?.startTime ?? ""))
      .slice(limit);
  return [
    ...beyond("Complete", spec.successfulJobsHistoryLimit ?? 3),
    ...beyond("Failed", spec.failedJobsHistoryLimit ?? 1),
  ];
}

function jobFor(cronJob: CronJob, at: number): Draft {
  const { metadata, spec } = cronJob.spec.jobTemplate;
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: `${cronJob.metadata.name}-${Math.floor(at / 60_000)}`,
      ...(cronJob.metadata.namespace === undefined ? {} : { namespace: cronJob.metadata.namespace }),
      ...(metadata?.labels === undefined ? {} : { labels: { ...metadata.labels } }),
      annotations: { ...metadata?.annotations, "batch.kubernetes.io/cronjob-scheduled-timestamp": formatTime(at) },
      ownerReferences: [controllerReference(cronJob)],
    },
    spec: structuredClone(spec),
  };
}
