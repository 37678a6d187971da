import type { Health } from "../../../../lib/sync/status/builtin-health.ts";
import type { CopyFacts } from "../../../../lib/sync/status/health.ts";
import { altered, withCondition } from "./builders.ts";
import {
  autoscaler,
  claim,
  configMap,
  cronJob,
  daemonSet,
  database,
  deployment,
  ingress,
  job,
  replicaSet,
  runningJob,
  secret,
  service,
  serviceAccount,
  statefulSet,
} from "./samples.ts";

type Row = Readonly<{ given: CopyFacts; health: Health }>;
const three = { desiredReplicas: 3, readyReplicas: 3 };

export const rows: Readonly<Record<string, Row>> = {
  "a Deployment with all replicas updated and available is ready": {
    given: deployment,
    health: { state: "Ready", ...three },
  },
  "a Deployment of which nothing was seen yet is applied": {
    given: { ...deployment, status: undefined },
    health: {
      state: "Applied",
      desiredReplicas: 3,
      readyReplicas: 0,
      reason: "LatestGenerationNotObserved",
      message: "the cluster has not taken up the last change",
    },
  },
  "what a Deployment says of an earlier change does not count": {
    given: { ...deployment, generation: 3 },
    health: {
      state: "Applied",
      ...three,
      reason: "LatestGenerationNotObserved",
      message: "the cluster has not taken up the last change",
    },
  },
  "not even that it has failed": {
    given: {
      ...deployment,
      generation: 3,
      status: withCondition(deployment, "Progressing", { status: "False", reason: "ProgressDeadlineExceeded" }),
    },
    health: {
      state: "Applied",
      ...three,
      reason: "LatestGenerationNotObserved",
      message: "the cluster has not taken up the last change",
    },
  },
  "a Deployment that is half updated is applied": {
    given: { ...deployment, status: altered(deployment, { updatedReplicas: 1, replicas: 4 }) },
    health: {
      state: "Applied",
      ...three,
      reason: "RollingOut",
      message: "not all replicas are those of the last change",
    },
  },
  "a Deployment that is half updated and paused says so": {
    given: { ...deployment, spec: { replicas: 3, paused: true }, status: altered(deployment, { updatedReplicas: 1 }) },
    health: {
      state: "Applied",
      ...three,
      reason: "RolloutPaused",
      message: "not all replicas are those of the last change",
    },
  },
  "a Deployment with old replicas is applied": {
    given: { ...deployment, status: altered(deployment, { replicas: 4 }) },
    health: { state: "Applied", ...three, reason: "RollingOut", message: "replicas that are too many are still there" },
  },
  "a Deployment that is short of available replicas is applied": {
    given: { ...deployment, status: altered(deployment, { availableReplicas: 2, readyReplicas: 2 }) },
    health: {
      state: "Applied",
      desiredReplicas: 3,
      readyReplicas: 2,
      reason: "NotReady",
      message: "not all replicas are available",
    },
  },
  "ready for too short a time is not available": {
    given: { ...deployment, status: altered(deployment, { availableReplicas: undefined }) },
    health: { state: "Applied", ...three, reason: "NotReady", message: "not all replicas are available" },
  },
  "a Deployment beyond its deadline has failed": {
    given: {
      ...deployment,
      status: withCondition(deployment, "Progressing", {
        status: "False",
        reason: "ProgressDeadlineExceeded",
        message: 'ReplicaSet "web-1" has timed out progressing.',
      }),
    },
    health: {
      state: "Failed",
      ...three,
      reason: "ProgressDeadlineExceeded",
      message: 'ProgressDeadlineExceeded: ReplicaSet "web-1" has timed out progressing.',
    },
  },
  "a Deployment whose pods are refused has the cluster's words": {
    given: {
      ...deployment,
      status: altered(deployment, {
        updatedReplicas: 0,
        conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota" }],
      }),
    },
    health: { state: "Applied", ...three, reason: "PodsRejected", message: "FailedCreate: exceeded quota" },
  },
  "a Deployment scaled to nothing is ready": {
    given: { ...deployment, spec: { replicas: 0 }, status: { observedGeneration: 2 } },
    health: { state: "Ready", desiredReplicas: 0, readyReplicas: 0 },
  },
  "a Deployment that an autoscaler has scaled is measured by what it has": {
    given: { ...deployment, spec: {} },
    health: { state: "Ready", ...three },
  },
  "a Deployment that an autoscaler is to scale has one replica at least": {
    given: { ...deployment, spec: {}, status: { observedGeneration: 2 } },
    health: {
      state: "Applied",
      desiredReplicas: 1,
      readyReplicas: 0,
      reason: "RollingOut",
      message: "not all replicas are those of the last change",
    },
  },

  "a StatefulSet with all replicas is ready": {
    given: statefulSet,
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet that rolls out is applied": {
    given: { ...statefulSet, status: altered(statefulSet, { updatedReplicas: 1, updateRevision: "db-9" }) },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 2,
      reason: "RollingOut",
      message: "not all replicas are those of the last change",
    },
  },
  "a StatefulSet need not update what is below its partition": {
    given: {
      ...statefulSet,
      spec: { replicas: 2, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } },
      status: altered(statefulSet, { updatedReplicas: 1, updateRevision: "db-9" }),
    },
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet with OnDelete is updated by people": {
    given: {
      ...statefulSet,
      spec: { replicas: 2, updateStrategy: { type: "OnDelete" } },
      status: altered(statefulSet, { updatedReplicas: undefined }),
    },
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet that scales in is applied": {
    given: { ...statefulSet, spec: { replicas: 1 } },
    health: {
      state: "Applied",
      desiredReplicas: 1,
      readyReplicas: 2,
      reason: "RollingOut",
      message: "replicas that are too many are still there",
    },
  },
  "a StatefulSet of a cluster that does not count what is available goes by what is ready": {
    given: { ...statefulSet, status: altered(statefulSet, { availableReplicas: undefined }) },
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet that waits for a pod is applied": {
    given: { ...statefulSet, status: altered(statefulSet, { readyReplicas: 1, availableReplicas: 1 }) },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 1,
      reason: "NotReady",
      message: "not all replicas are available",
    },
  },

  "a DaemonSet on all its nodes is ready": {
    given: daemonSet,
    health: { state: "Ready", desiredReplicas: 5, readyReplicas: 5 },
  },
  "a DaemonSet on no node is ready": {
    given: { ...daemonSet, status: { observedGeneration: 4, desiredNumberScheduled: 0, numberReady: 0 } },
    health: { state: "Ready", desiredReplicas: 0, readyReplicas: 0 },
  },
  "a DaemonSet that rolls out is applied": {
    given: { ...daemonSet, status: altered(daemonSet, { updatedNumberScheduled: 2 }) },
    health: {
      state: "Applied",
      desiredReplicas: 5,
      readyReplicas: 5,
      reason: "RollingOut",
      message: "not all replicas are those of the last change",
    },
  },
  "a DaemonSet that misses a node is applied": {
    given: { ...daemonSet, status: altered(daemonSet, { numberAvailable: 4, numberReady: 4 }) },
    health: {
      state: "Applied",
      desiredReplicas: 5,
      readyReplicas: 4,
      reason: "NotReady",
      message: "not all replicas are available",
    },
  },

  "a ReplicaSet with all replicas is ready": {
    given: replicaSet,
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a ReplicaSet whose pods are refused has the cluster's words": {
    given: {
      ...replicaSet,
      status: {
        observedGeneration: 1,
        replicas: 0,
        conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "no such account" }],
      },
    },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 0,
      reason: "PodsRejected",
      message: "FailedCreate: no such account",
    },
  },
  "a ReplicaSet with too many is applied": {
    given: { ...replicaSet, spec: { replicas: 1 } },
    health: {
      state: "Applied",
      desiredReplicas: 1,
      readyReplicas: 2,
      reason: "RollingOut",
      message: "replicas that are too many are still there",
    },
  },

  "a Job that is done is ready": {
    given: job,
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2, reason: "Complete" },
  },
  "a Job that runs is as good as ready": {
    given: runningJob,
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 0, reason: "Running" },
  },
  "a Job that has not started is applied": {
    given: { ...job, status: undefined },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 0,
      reason: "Starting",
      message: "the job has not started",
    },
  },
  "a Job that failed has failed": {
    given: {
      ...job,
      status: {
        failed: 7,
        conditions: [
          {
            type: "Failed",
            status: "True",
            reason: "BackoffLimitExceeded",
            message: "Job has reached the specified backoff limit",
          },
        ],
      },
    },
    health: {
      state: "Failed",
      desiredReplicas: 2,
      readyReplicas: 0,
      reason: "Failed",
      message: "BackoffLimitExceeded: Job has reached the specified backoff limit",
    },
  },
  "a Job that is bound to fail has failed": {
    given: { ...runningJob, status: altered(runningJob, { conditions: [{ type: "FailureTarget", status: "True" }] }) },
    health: {
      state: "Failed",
      desiredReplicas: 2,
      readyReplicas: 0,
      reason: "Failed",
      message: "FailureTarget is True",
    },
  },
  "a Job that its owner suspends is as it should be": {
    given: { ...job, spec: { suspend: true }, status: { conditions: [{ type: "Suspended", status: "True" }] } },
    health: { state: "Ready", desiredReplicas: 1, readyReplicas: 0, reason: "Suspended" },
  },
  "a Job that the cluster suspends waits": {
    given: {
      ...job,
      status: { conditions: [{ type: "Suspended", status: "True", reason: "JobSuspended", message: "Job suspended" }] },
    },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 0,
      reason: "Suspended",
      message: "JobSuspended: Job suspended",
    },
  },
  "a Job whose pods share the work among themselves has no known number": {
    given: { ...runningJob, spec: { parallelism: 4 } },
    health: { state: "Ready", readyReplicas: 0, reason: "Running" },
  },

  "a CronJob is ready once it is there": { given: { ...cronJob, status: undefined }, health: { state: "Ready" } },
  "a CronJob that is suspended says so": {
    given: { ...cronJob, spec: { suspend: true } },
    health: { state: "Ready", reason: "Suspended" },
  },

  "a load balancer with an address is ready": { given: service, health: { state: "Ready" } },
  "a load balancer waits for its address": {
    given: { ...service, status: { loadBalancer: {} } },
    health: { state: "Applied", reason: "WaitingForAddress", message: "the cluster has given it no address" },
  },
  "any other Service is ready once it is there": {
    given: { ...service, spec: { type: "ClusterIP" }, status: { loadBalancer: {} } },
    health: { state: "Ready" },
  },
  "an Ingress with an address is ready": { given: ingress, health: { state: "Ready" } },
  "an Ingress without one is ready too": {
    given: { ...ingress, status: { loadBalancer: {} } },
    health: { state: "Ready", reason: "WaitingForAddress", message: "the cluster has given it no address" },
  },

  "a claim with a volume is ready": { given: claim, health: { state: "Ready" } },
  "a claim whose volume is lost has failed": {
    given: { ...claim, status: { phase: "Lost" } },
    health: { state: "Failed", reason: "Failed", message: "its volume is lost" },
  },
  "a claim that nobody has looked at is applied": {
    given: { ...claim, status: {} },
    health: { state: "Applied", reason: "NotReady", message: "the cluster has not looked at it" },
  },
  "a claim that waits for its first pod counts as ready": {
    given: { ...claim, status: { phase: "Pending" } },
    health: {
      state: "Ready",
      reason: "WaitingForConsumer",
      message: "it has no volume, and may wait for a pod that uses it",
    },
  },
  "a claim whose volume is being provided is applied": {
    given: {
      ...claim,
      status: { phase: "Pending" },
      annotations: { "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com" },
    },
    health: { state: "Applied", reason: "NotReady", message: "it has no volume yet" },
  },
  "a claim without a class waits for a person, not for a pod": {
    given: { ...claim, spec: { storageClassName: "" }, status: { phase: "Pending" } },
    health: { state: "Applied", reason: "NotReady", message: "it has no volume yet" },
  },

  "an autoscaler that scales is ready": { given: autoscaler, health: { state: "Ready" } },
  "an autoscaler that nobody has looked at is ready": {
    given: { ...autoscaler, status: undefined },
    health: { state: "Ready" },
  },
  "an autoscaler without metrics is applied": {
    given: {
      ...autoscaler,
      status: withCondition(autoscaler, "ScalingActive", {
        status: "False",
        reason: "FailedGetResourceMetric",
        message: "no metrics",
      }),
    },
    health: { state: "Applied", reason: "NotReady", message: "FailedGetResourceMetric: no metrics" },
  },
  "an autoscaler of something that is scaled to nothing rests": {
    given: {
      ...autoscaler,
      status: withCondition(autoscaler, "ScalingActive", { status: "False", reason: "ScalingDisabled" }),
    },
    health: { state: "Ready" },
  },

  "a ConfigMap is ready once it is there": { given: configMap, health: { state: "Ready" } },
  "a Secret is ready once it is there": { given: secret, health: { state: "Ready" } },
  "a ServiceAccount is ready once it is there": { given: serviceAccount, health: { state: "Ready" } },

  "a custom resource that is Ready is ready": { given: database, health: { state: "Ready" } },
  "a custom resource that is not Ready is applied": {
    given: {
      ...database,
      status: withCondition(database, "Ready", { status: "False", reason: "NoDisk", message: "full" }),
    },
    health: { state: "Applied", reason: "NotReady", message: "NoDisk: full" },
  },
  "what a custom resource says of an earlier change does not count": {
    given: { ...database, generation: 4 },
    health: {
      state: "Applied",
      reason: "LatestGenerationNotObserved",
      message: "the cluster has not taken up the last change",
    },
  },
  "not even when only its condition says of which": {
    given: { ...database, generation: 4, status: altered(database, { observedGeneration: undefined }) },
    health: {
      state: "Applied",
      reason: "LatestGenerationNotObserved",
      message: "the cluster has not taken up the last change",
    },
  },
  "a generation may be written as a text": {
    given: { ...database, generation: 4, status: { observedGeneration: "3" } },
    health: {
      state: "Applied",
      reason: "LatestGenerationNotObserved",
      message: "the cluster has not taken up the last change",
    },
  },
  "Ready goes before Available": {
    given: {
      ...database,
      status: {
        conditions: [
          { type: "Available", status: "True" },
          { type: "Ready", status: "Unknown" },
        ],
      },
    },
    health: { state: "Applied", reason: "NotReady", message: "Ready is Unknown" },
  },
  "Available will do where there is no Ready": {
    given: { ...database, status: { conditions: [{ type: "Available", status: "True" }] } },
    health: { state: "Ready" },
  },
  "a custom resource that is Stalled has failed": {
    given: {
      ...database,
      status: {
        conditions: [
          { type: "Ready", status: "False" },
          { type: "Stalled", status: "True", reason: "BadSpec" },
        ],
      },
    },
    health: { state: "Failed", reason: "Failed", message: "BadSpec" },
  },
  "a custom resource that is Reconciling is applied": {
    given: { ...database, status: { conditions: [{ type: "Reconciling", status: "True", message: "growing" }] } },
    health: { state: "Applied", reason: "NotReady", message: "growing" },
  },
  "a phase that ends in -ing is on its way": {
    given: { ...database, status: { phase: "Provisioning" } },
    health: { state: "Applied", reason: "NotReady", message: "it is Provisioning" },
  },
  "running is where it should be": { given: { ...database, status: { state: "Running" } }, health: { state: "Ready" } },
  "a phase that means failure has failed": {
    given: { ...database, status: { phase: "Error" } },
    health: { state: "Failed", reason: "Failed", message: "it is Error" },
  },
  "a phase that nobody knows is no hindrance": {
    given: { ...database, status: { phase: "Blue" } },
    health: { state: "Ready" },
  },
  "a custom resource that counts replicas is short of them": {
    given: { ...database, spec: { replicas: 3 }, status: { readyReplicas: 1 } },
    health: {
      state: "Applied",
      desiredReplicas: 3,
      readyReplicas: 1,
      reason: "NotReady",
      message: "not all replicas are ready",
    },
  },
  "a custom resource that says nothing is ready once it is there": {
    given: { ...database, status: undefined },
    health: { state: "Ready" },
  },
  "conditions of another form say nothing": {
    given: { ...database, status: { conditions: ["Ready"], phase: 3 } },
    health: { state: "Ready" },
  },
  "a type of another group with a known name is a custom resource": {
    given: { apiVersion: "example.com/v1", kind: "Deployment", generation: 1, status: {} },
    health: { state: "Ready" },
  },
};
