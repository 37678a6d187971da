import type { Job, Pod } from "../kinds.ts";
import { decideCronJob, referenceTo } from "../workloads/cron-job.ts";
import { scheduleProblem } from "../workloads/cron-schedule.ts";
import { decideJob, indexAnnotation, trackingFinalizer } from "../workloads/job.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { type Controller, type Draft, type EventNote, keyOf, ownerKey, type World } from "../world.ts";

const jobNote = (reason: string, message: string): EventNote => ({
  type: "Normal",
  reason,
  message,
  source: "job-controller",
});

/** Runs a job's pods until as many of them have succeeded as it asks for. */
export const jobController: Controller = {
  name: "job",
  watches: { jobs: (job) => [keyOf(job)], pods: (pod) => ownerKey(pod, "Job") },
  reconcile({ namespace, name }, world) {
    const job = world.get("jobs", namespace, name);
    if (job === undefined) return undefined;
    if (job.metadata.deletionTimestamp !== undefined) {
      for (const pod of world.owned("pods", job.metadata.uid)) release(world, pod);
      return undefined;
    }
    const plan = decideJob({ job, pods: world.owned("pods", job.metadata.uid), now: world.now() });
    for (const { index } of plan.create) {
      const pod = world.create("pods", podOf(job, index));
      world.note(job, jobNote("SuccessfulCreate", `Created pod: ${pod.metadata.name}`));
    }
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.note(job, jobNote("SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`));
    }
    world.writeStatus("jobs", job, plan.status);
    for (const pod of plan.release) release(world, pod);
    for (const event of plan.events) world.note(job, event);
    if (plan.expired) world.remove("jobs", job);
    return plan.nextMs;
  },
};

/** Lets go of a pod that has been counted; it is read again, for it may have changed or gone since. */
function release(world: World, { metadata }: Pod): void {
  const pod = world.get("pods", metadata.namespace ?? "", metadata.name);
  if (pod === undefined || pod.metadata.finalizers?.includes(trackingFinalizer) !== true) return;
  const finalizers = pod.metadata.finalizers.filter((finalizer) => finalizer !== trackingFinalizer);
  const { finalizers: _, ...others } = pod.metadata;
  world.update("pods", { ...pod, metadata: finalizers.length === 0 ? others : { ...others, finalizers } });
}

function podOf(job: Job, index: number | undefined): Draft {
  const { template } = job.spec;
  if (index === undefined) return podFromTemplate(job, template, { finalizers: [trackingFinalizer] });
  const source = { valueFrom: { fieldRef: { fieldPath: `metadata.labels['${indexAnnotation}']` } } };
  return podFromTemplate(job, template, {
    generateName: `${job.metadata.name}-${index}-`,
    labels: { [indexAnnotation]: String(index) },
    annotations: { [indexAnnotation]: String(index) },
    finalizers: [trackingFinalizer],
    spec: {
      hostname: `${job.metadata.name}-${index}`,
      containers: template.spec.containers.map((container) => ({
        ...container,
        env: [...(container.env ?? []), { name: "JOB_COMPLETION_INDEX", ...source }],
      })),
    },
  });
}

// Timers cannot be set for longer than some weeks; an hour is often enough to look again.
const longestWaitMs = 3_600_000;

/** Starts jobs when a cron job's schedule says so. */
export const cronJobController: Controller = {
  name: "cronjob",
  watches: { cronjobs: (cronJob) => [keyOf(cronJob)], jobs: (job) => ownerKey(job, "CronJob") },
  reconcile({ namespace, name }, world) {
    const cronJob = world.get("cronjobs", namespace, name);
    if (cronJob === undefined) return undefined;
    const source = "cronjob-controller";
    const problem = scheduleProblem(cronJob.spec.schedule);
    if (problem !== undefined) {
      const message = `unparseable schedule: "${cronJob.spec.schedule}" : ${problem}`;
      world.note(cronJob, { type: "Warning", reason: "UnparseableSchedule", message, source });
      return undefined;
    }
    const plan = decideCronJob({ cronJob, jobs: world.owned("jobs", cronJob.metadata.uid), now: world.now() });
    for (const job of plan.remove) {
      world.remove("jobs", job);
      world.note(cronJob, {
        type: "Normal",
        reason: "SuccessfulDelete",
        message: `Deleted job ${job.metadata.name}`,
        source,
      });
    }
    let { status } = plan;
    if (plan.create !== undefined) {
      const existing = world.get("jobs", namespace, plan.create.metadata.name ?? "");
      const job = existing ?? world.create("jobs", plan.create);
      if (existing === undefined) {
        world.note(cronJob, {
          type: "Normal",
          reason: "SuccessfulCreate",
          message: `Created job ${job.metadata.name}`,
          source,
        });
      }
      status = { ...status, active: [...(status.active ?? []), referenceTo(job)] };
    }
    world.writeStatus("cronjobs", cronJob, status);
    for (const event of plan.events) world.note(cronJob, event);
    return plan.nextMs === undefined ? undefined : Math.min(plan.nextMs, longestWaitMs);
  },
};
