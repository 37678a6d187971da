import type { Job, Pod } from "../kinds.ts";
import { decideCronJob, referenceTo } from "../workloads/cron-job.ts";
import { scheduleError } from "../workloads/cron-schedule.ts";
import { decideJob, indexAnnotation, trackingFinalizer } from "../workloads/job.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { type ClusterController, type Draft, type EventContent, keyOf, ownerKey, type World } from "../world.ts";

const jobEvent = (reason: string, message: string): EventContent => ({
  type: "Normal",
  reason,
  message,
  source: "job-controller",
});

/** Runs the pods of a job until enough of them have succeeded. */
export const jobController: ClusterController = {
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
      world.recordEvent(job, jobEvent("SuccessfulCreate", `Created pod: ${pod.metadata.name}`));
    }
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.recordEvent(job, jobEvent("SuccessfulDelete", `Deleted pod: ${pod.metadata.name}`));
    }
    world.writeStatus("jobs", job, plan.status);
    for (const pod of plan.release) release(world, pod);
    for (const event of plan.events) world.recordEvent(job, event);
    if (plan.expired) world.remove("jobs", job);
    return plan.nextMs;
  },
};

/** Removes the tracking finalizer of a counted pod. Reads the pod again, because it may have changed or be gone. */
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

// setTimeout supports at most 24 days; requeueing every hour is enough.
const longestWaitMs = 3_600_000;

/** Creates jobs according to the schedules of cron jobs. */
export const cronJobController: ClusterController = {
  name: "cronjob",
  watches: { cronjobs: (cronJob) => [keyOf(cronJob)], jobs: (job) => ownerKey(job, "CronJob") },
  reconcile({ namespace, name }, world) {
    const cronJob = world.get("cronjobs", namespace, name);
    if (cronJob === undefined) return undefined;
    const source = "cronjob-controller";
    const parseError = scheduleError(cronJob.spec.schedule);
    if (parseError !== undefined) {
      const message = `unparseable schedule: "${cronJob.spec.schedule}" : ${parseError}`;
      world.recordEvent(cronJob, { type: "Warning", reason: "UnparseableSchedule", message, source });
      return undefined;
    }
    const plan = decideCronJob({ cronJob, jobs: world.owned("jobs", cronJob.metadata.uid), now: world.now() });
    for (const job of plan.remove) {
      world.remove("jobs", job);
      world.recordEvent(cronJob, {
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
        world.recordEvent(cronJob, {
          type: "Normal",
          reason: "SuccessfulCreate",
          message: `Created job ${job.metadata.name}`,
          source,
        });
      }
      status = { ...status, active: [...(status.active ?? []), referenceTo(job)] };
    }
    world.writeStatus("cronjobs", cronJob, status);
    for (const event of plan.events) world.recordEvent(cronJob, event);
    return plan.nextMs === undefined ? undefined : Math.min(plan.nextMs, longestWaitMs);
  },
};
