import { conditionOfType, isPodActive, isPodReady, isPodTerminating, sooner, withoutZeros } from "../conditions.ts";
import { formatTime, type Job, type JobStatus, type ObjectCondition, type Pod, parseTime } from "../kinds.ts";
import type { EventContent } from "../world.ts";

/** Keeps a finished pod until the job has counted it. */
export const trackingFinalizer = "batch.kubernetes.io/job-tracking";
export const indexAnnotation = "batch.kubernetes.io/job-completion-index";

export type JobFacts = Readonly<{ job: Job; pods: readonly Pod[]; now: number }>;
export type JobPlan = Readonly<{
  /** One entry per pod; with its completion index for indexed jobs. */
  create: readonly Readonly<{ index?: number }>[];
  remove: readonly Pod[];
  /** Pods that are counted in `status`, so that their finalizer can be removed. */
  release: readonly Pod[];
  /** Whether ttlSecondsAfterFinished has passed. */
  expired: boolean;
  status: JobStatus;
  events: readonly EventContent[];
  nextMs: number | undefined;
}>;

// A failed pod is replaced after ten seconds, then twenty, and so on, up to ten minutes.
const firstBackoffMs = 10_000;
const maxBackoffMs = 600_000;

/** The result of a finished job, or undefined if it is not finished. */
export function resultOf(job: Job): "Complete" | "Failed" | undefined {
  if (conditionOfType(job.status?.conditions, "Complete")?.status === "True") return "Complete";
  return conditionOfType(job.status?.conditions, "Failed")?.status === "True" ? "Failed" : undefined;
}

/** Decides which pods a job needs, counts finished pods, and computes the status. */
export function decideJob({ job, pods, now }: JobFacts): JobPlan {
  const uncounted = pods.filter((pod) => pod.metadata.finalizers?.includes(trackingFinalizer));
  const newlySucceeded = uncounted.filter((pod) => pod.status?.phase === "Succeeded");
  const newlyFailed = uncounted.filter((pod) => pod.status?.phase === "Failed" || wasDeleted(pod));
  const release = [...newlySucceeded, ...newlyFailed];
  const counted = {
    succeeded: (job.status?.succeeded ?? 0) + newlySucceeded.length,
    failed: (job.status?.failed ?? 0) + newlyFailed.length,
  };
  if (resultOf(job) !== undefined) return planAfterEnd(job, pods, uncounted, now);

  const { parallelism = 1, completions, backoffLimit = 6, suspend = false } = job.spec;
  const indexed = job.spec.completionMode === "Indexed";
  const active = pods.filter(isPodActive);
  const startTime = suspend ? job.status?.startTime : (job.status?.startTime ?? formatTime(now));
  const done = indexed ? addIndexes(job, newlySucceeded) : [];
  const succeeded = indexed ? done.length : counted.succeeded;
  const base: JobStatus = {
    ready: active.filter(isPodReady).length,
    succeeded,
    failed: counted.failed,
    terminating: pods.filter(isPodTerminating).length,
    uncountedTerminatedPods: {},
    ...(startTime === undefined ? {} : { startTime }),
    ...(indexed && done.length > 0 ? { completedIndexes: formatIndexes(done) } : {}),
    ...(job.status?.conditions === undefined ? {} : { conditions: job.status.conditions }),
  };

  const deadlineMs = deadlineIn(job, startTime, now);
  const ended = endReason({ job, succeeded, failed: counted.failed, backoffLimit, active: active.length, deadlineMs });
  if (ended !== undefined) return planEnd(base, ended, { active, release, now });

  const events: EventContent[] = [];
  const conditions = suspension(job, suspend, now, events);
  const plan = {
    release,
    expired: false,
    status: { ...base, ...(conditions === undefined ? {} : { conditions }) },
  };
  if (suspend) {
    const { startTime: _, ...status } = plan.status;
    return {
      ...plan,
      create: [],
      remove: active,
      status: withoutZeroCounts({ ...status, active: 0 }),
      events,
      nextMs: undefined,
    };
  }

  const remaining = completions === undefined ? (succeeded > 0 ? 0 : parallelism) : completions - succeeded;
  const desiredActive =
    completions === undefined && succeeded > 0 ? active.length : Math.max(0, Math.min(parallelism, remaining));
  const missing = desiredActive - active.length;
  const waitMs = missing > 0 ? backoffIn(pods, counted.failed, now) : 0;
  const create = missing > 0 && waitMs === 0 ? newPods(job, active, done, missing) : [];
  const remove = missing < 0 ? active.toSorted(youngestFirst).slice(0, -missing) : [];
  return {
    ...plan,
    create,
    remove,
    status: withoutZeroCounts({ ...plan.status, active: active.length + create.length - remove.length }),
    events,
    nextMs: sooner(waitMs > 0 ? waitMs : undefined, deadlineMs),
  };
}

const withoutZeroCounts = (status: JobStatus): JobStatus => withoutZeros(status, ["ready", "terminating"]);

/** A pod that was deleted before it finished counts as failed. */
const wasDeleted = (pod: Pod): boolean =>
  pod.metadata.deletionTimestamp !== undefined && pod.status?.phase !== "Succeeded";

const youngestFirst = (a: Pod, b: Pod): number =>
  b.metadata.creationTimestamp.localeCompare(a.metadata.creationTimestamp);

const indexOf = (pod: Pod): number => Number(pod.metadata.annotations?.[indexAnnotation] ?? -1);

function addIndexes(job: Job, succeeded: readonly Pod[]): readonly number[] {
  const all = new Set([...parseIndexes(job.status?.completedIndexes ?? ""), ...succeeded.map(indexOf)]);
  return [...all].filter((index) => index >= 0).toSorted((a, b) => a - b);
}

function newPods(job: Job, active: readonly Pod[], done: readonly number[], count: number): { index?: number }[] {
  if (job.spec.completionMode !== "Indexed") return Array.from({ length: count }, () => ({}));
  const taken = new Set([...done, ...active.map(indexOf)]);
  return Array.from({ length: job.spec.completions ?? 1 }, (_, index) => index)
    .filter((index) => !taken.has(index))
    .slice(0, count)
    .map((index) => ({ index }));
}

function backoffIn(pods: readonly Pod[], failures: number, now: number): number {
  const ends = pods
    .filter((pod) => pod.status?.phase === "Failed")
    .map((pod) => pod.status?.containerStatuses?.[0]?.state.terminated?.finishedAt)
    .flatMap((time) => (time === undefined ? [] : [parseTime(time)]));
  if (ends.length === 0 || failures === 0) return 0;
  const backoff = Math.min(maxBackoffMs, firstBackoffMs * 2 ** (failures - 1));
  return Math.max(0, Math.max(...ends) + backoff - now);
}

function deadlineIn(job: Job, startTime: string | undefined, now: number): number | undefined {
  if (job.spec.activeDeadlineSeconds === undefined || startTime === undefined) return undefined;
  return parseTime(startTime) + job.spec.activeDeadlineSeconds * 1000 - now;
}

type Ending = Readonly<{ succeeded: boolean; reason: string; message: string }>;

function endReason(
  facts: Readonly<{
    job: Job;
    succeeded: number;
    failed: number;
    backoffLimit: number;
    active: number;
    deadlineMs: number | undefined;
  }>,
): Ending | undefined {
  const { job, succeeded, failed, active } = facts;
  const { completions } = job.spec;
  if (failed > facts.backoffLimit) {
    return {
      succeeded: false,
      reason: "BackoffLimitExceeded",
      message: "Job has reached the specified backoff limit",
    };
  }
  if (facts.deadlineMs !== undefined && facts.deadlineMs <= 0) {
    return { succeeded: false, reason: "DeadlineExceeded", message: "Job was active longer than specified deadline" };
  }
  const complete = completions === undefined ? succeeded > 0 && active === 0 : succeeded >= completions;
  if (!complete || job.spec.suspend === true) return undefined;
  return { succeeded: true, reason: "CompletionsReached", message: "Reached expected number of succeeded pods" };
}

function planEnd(
  base: JobStatus,
  ending: Ending,
  { active, release, now }: { active: readonly Pod[]; release: readonly Pod[]; now: number },
): JobPlan {
  const { reason, message } = ending;
  const condition = (type: string): ObjectCondition => ({
    type,
    status: "True",
    reason,
    message,
    lastProbeTime: formatTime(now),
    lastTransitionTime: formatTime(now),
  });
  const types = ending.succeeded ? ["SuccessCriteriaMet", "Complete"] : ["FailureTarget", "Failed"];
  const conditions = [...(base.conditions ?? []), ...types.map(condition)];
  return {
    create: [],
    remove: active,
    release: [...release, ...active],
    expired: false,
    status: withoutZeroCounts({
      ...base,
      ready: 0,
      conditions,
      failed: (base.failed ?? 0) + active.length,
      ...(ending.succeeded ? { completionTime: formatTime(now) } : {}),
    }),
    events: [
      ending.succeeded
        ? { type: "Normal", reason: "Completed", message: "Job completed", source: "job-controller" }
        : { type: "Warning", reason, message, source: "job-controller" },
    ],
    nextMs: undefined,
  };
}

function planAfterEnd(job: Job, pods: readonly Pod[], uncounted: readonly Pod[], now: number): JobPlan {
  const ttl = job.spec.ttlSecondsAfterFinished;
  const condition = conditionOfType(job.status?.conditions, resultOf(job) ?? "");
  const since = condition?.lastTransitionTime;
  const remainingMs = ttl === undefined || since === undefined ? undefined : parseTime(since) + ttl * 1000 - now;
  return {
    create: [],
    remove: pods.filter(isPodActive),
    release: uncounted,
    expired: remainingMs !== undefined && remainingMs <= 0,
    status: job.status ?? {},
    events: [],
    nextMs: remainingMs !== undefined && remainingMs > 0 ? remainingMs : undefined,
  };
}

function suspension(job: Job, suspend: boolean, now: number, events: EventContent[]): ObjectCondition[] | undefined {
  const conditions = job.status?.conditions ?? [];
  const before = conditionOfType(conditions, "Suspended");
  const isSuspended = before?.status === "True";
  if (suspend === isSuspended) return job.status?.conditions;
  const reason = suspend ? "JobSuspended" : "JobResumed";
  const message = suspend ? "Job suspended" : "Job resumed";
  events.push({ type: "Normal", reason: suspend ? "Suspended" : "Resumed", message, source: "job-controller" });
  const condition: ObjectCondition = {
    type: "Suspended",
    status: suspend ? "True" : "False",
    reason,
    message,
    lastProbeTime: formatTime(now),
    lastTransitionTime: formatTime(now),
  };
  return [...conditions.filter((each) => each !== before), condition];
}

/** Parses the index list of a job's status: "0,2-4". */
export function parseIndexes(text: string): number[] {
  if (text === "") return [];
  return text.split(",").flatMap((part) => {
    const [first = "", last = first] = part.split("-");
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, offset) => Number(first) + offset);
  });
}

/** Formats sorted indexes as a job's status has them. */
export function formatIndexes(indexes: readonly number[]): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of indexes) {
    const open = ranges.at(-1);
    if (open !== undefined && open[1] === index - 1) open[1] = index;
    else ranges.push([index, index]);
  }
  return ranges
    .map(([first, last]) =>
      first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
    )
    .join(",");
}
