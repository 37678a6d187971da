import type { CopyHealth } from "../../../../lib/sync/status/builtin-health.ts";
import type { CopyHealthFacts } from "../../../../lib/sync/status/health.ts";
import { altered, withCondition } from "../../../support/copy-status-builders.ts";
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

type Row = Readonly<{ given: CopyHealthFacts; health: CopyHealth }>;
const three = { desiredReplicas: 3, readyReplicas: 3 };

export const rows: Readonly<Record<string, Row>> = {
  "a Deployment with all replicas updated and available is ready": {
    given: deployment,
    health: { state: "Ready", ...three },
  },
  "a Deployment without a status is applied": {
    given: { ...deployment, status: undefined },
    health: {
      state: "Applied",
      desiredReplicas: 3,
      readyReplicas: 0,
      reason: "LatestGenerationNotObserved",
      message: "the cluster's controllers have not observed the latest generation",
    },
  },
  "a Deployment with the status of an earlier generation is applied": {
    given: { ...deployment, generation: 3 },
    health: {
      state: "Applied",
      ...three,
      reason: "LatestGenerationNotObserved",
      message: "the cluster's controllers have not observed the latest generation",
    },
  },
  "a Deployment that failed in an earlier generation is applied": {
    given: {
      ...deployment,
      generation: 3,
      status: withCondition(deployment, "Progressing", { status: "False", reason: "ProgressDeadlineExceeded" }),
    },
    health: {
      state: "Applied",
      ...three,
      reason: "LatestGenerationNotObserved",
      message: "the cluster's controllers have not observed the latest generation",
    },
  },
  "a Deployment that is partly updated is applied": {
    given: { ...deployment, status: altered(deployment, { updatedReplicas: 1, replicas: 4 }) },
    health: {
      state: "Applied",
      ...three,
      reason: "RollingOut",
      message: "not all replicas are updated",
    },
  },
  "a Deployment that is partly updated and paused has the reason RolloutPaused": {
    given: { ...deployment, spec: { replicas: 3, paused: true }, status: altered(deployment, { updatedReplicas: 1 }) },
    health: {
      state: "Applied",
      ...three,
      reason: "RolloutPaused",
      message: "not all replicas are updated",
    },
  },
  "a Deployment with surplus replicas is applied": {
    given: { ...deployment, status: altered(deployment, { replicas: 4 }) },
    health: { state: "Applied", ...three, reason: "RollingOut", message: "surplus replicas still exist" },
  },
  "a Deployment with too few available replicas is applied": {
    given: { ...deployment, status: altered(deployment, { availableReplicas: 2, readyReplicas: 2 }) },
    health: {
      state: "Applied",
      desiredReplicas: 3,
      readyReplicas: 2,
      reason: "NotReady",
      message: "not all replicas are available",
    },
  },
  "a Deployment whose ready replicas are not available yet is applied": {
    given: { ...deployment, status: altered(deployment, { availableReplicas: undefined }) },
    health: { state: "Applied", ...three, reason: "NotReady", message: "not all replicas are available" },
  },
  "a Deployment beyond its progress deadline has failed": {
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
  "a Deployment whose pods are rejected has the cluster's message": {
    given: {
      ...deployment,
      status: altered(deployment, {
        updatedReplicas: 0,
        conditions: [{ type: "ReplicaFailure", status: "True", reason: "FailedCreate", message: "exceeded quota" }],
      }),
    },
    health: { state: "Applied", ...three, reason: "PodsRejected", message: "FailedCreate: exceeded quota" },
  },
  "a Deployment with zero replicas is ready": {
    given: { ...deployment, spec: { replicas: 0 }, status: { observedGeneration: 2 } },
    health: { state: "Ready", desiredReplicas: 0, readyReplicas: 0 },
  },
  "a Deployment without spec.replicas is compared with its current replicas": {
    given: { ...deployment, spec: {} },
    health: { state: "Ready", ...three },
  },
  "a Deployment without spec.replicas has at least one desired replica": {
    given: { ...deployment, spec: {}, status: { observedGeneration: 2 } },
    health: {
      state: "Applied",
      desiredReplicas: 1,
      readyReplicas: 0,
      reason: "RollingOut",
      message: "not all replicas are updated",
    },
  },

  "a StatefulSet with all replicas is ready": {
    given: statefulSet,
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet during a rollout is applied": {
    given: { ...statefulSet, status: altered(statefulSet, { updatedReplicas: 1, updateRevision: "db-9" }) },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 2,
      reason: "RollingOut",
      message: "not all replicas are updated",
    },
  },
  "a StatefulSet is ready with old replicas below its partition": {
    given: {
      ...statefulSet,
      spec: { replicas: 2, updateStrategy: { type: "RollingUpdate", rollingUpdate: { partition: 1 } } },
      status: altered(statefulSet, { updatedReplicas: 1, updateRevision: "db-9" }),
    },
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet with OnDelete is ready with old replicas": {
    given: {
      ...statefulSet,
      spec: { replicas: 2, updateStrategy: { type: "OnDelete" } },
      status: altered(statefulSet, { updatedReplicas: undefined }),
    },
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet with surplus replicas is applied": {
    given: { ...statefulSet, spec: { replicas: 1 } },
    health: {
      state: "Applied",
      desiredReplicas: 1,
      readyReplicas: 2,
      reason: "RollingOut",
      message: "surplus replicas still exist",
    },
  },
  "a StatefulSet without availableReplicas is ready by its readyReplicas": {
    given: { ...statefulSet, status: altered(statefulSet, { availableReplicas: undefined }) },
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2 },
  },
  "a StatefulSet with too few available replicas is applied": {
    given: { ...statefulSet, status: altered(statefulSet, { readyReplicas: 1, availableReplicas: 1 }) },
    health: {
      state: "Applied",
      desiredReplicas: 2,
      readyReplicas: 1,
      reason: "NotReady",
      message: "not all replicas are available",
    },
  },

  "a DaemonSet that is available on all nodes is ready": {
    given: daemonSet,
    health: { state: "Ready", desiredReplicas: 5, readyReplicas: 5 },
  },
  "a DaemonSet without nodes is ready": {
    given: { ...daemonSet, status: { observedGeneration: 4, desiredNumberScheduled: 0, numberReady: 0 } },
    health: { state: "Ready", desiredReplicas: 0, readyReplicas: 0 },
  },
  "a DaemonSet during a rollout is applied": {
    given: { ...daemonSet, status: altered(daemonSet, { updatedNumberScheduled: 2 }) },
    health: {
      state: "Applied",
      desiredReplicas: 5,
      readyReplicas: 5,
      reason: "RollingOut",
      message: "not all replicas are updated",
    },
  },
  "a DaemonSet that is not available on one node is applied": {
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
  "a ReplicaSet whose pods are rejected has the cluster's message": {
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
  "a ReplicaSet with surplus replicas is applied": {
    given: { ...replicaSet, spec: { replicas: 1 } },
    health: {
      state: "Applied",
      desiredReplicas: 1,
      readyReplicas: 2,
      reason: "RollingOut",
      message: "surplus replicas still exist",
    },
  },

  "a complete Job is ready": {
    given: job,
    health: { state: "Ready", desiredReplicas: 2, readyReplicas: 2, reason: "Complete" },
  },
  "a running Job is ready": {
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
  "a Job with FailureTarget has failed": {
    given: { ...runningJob, status: altered(runningJob, { conditions: [{ type: "FailureTarget", status: "True" }] }) },
    health: {
      state: "Failed",
      desiredReplicas: 2,
      readyReplicas: 0,
      reason: "Failed",
      message: "FailureTarget is True",
    },
  },
  "a Job that its spec suspends is ready": {
    given: { ...job, spec: { suspend: true }, status: { conditions: [{ type: "Suspended", status: "True" }] } },
    health: { state: "Ready", desiredReplicas: 1, readyReplicas: 0, reason: "Suspended" },
  },
  "a Job that only the cluster suspends is applied": {
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
  "a Job with a work queue has no desired replicas": {
    given: { ...runningJob, spec: { parallelism: 4 } },
    health: { state: "Ready", readyReplicas: 0, reason: "Running" },
  },

  "a CronJob is ready once it exists": { given: { ...cronJob, status: undefined }, health: { state: "Ready" } },
  "a suspended CronJob has the reason Suspended": {
    given: { ...cronJob, spec: { suspend: true } },
    health: { state: "Ready", reason: "Suspended" },
  },

  "a LoadBalancer Service with an address is ready": { given: service, health: { state: "Ready" } },
  "a LoadBalancer Service without an address is applied": {
    given: { ...service, status: { loadBalancer: {} } },
    health: { state: "Applied", reason: "WaitingForAddress", message: "the cluster has not assigned an address" },
  },
  "any other Service is ready once it exists": {
    given: { ...service, spec: { type: "ClusterIP" }, status: { loadBalancer: {} } },
    health: { state: "Ready" },
  },
  "an Ingress with an address is ready": { given: ingress, health: { state: "Ready" } },
  "an Ingress without an address is ready": {
    given: { ...ingress, status: { loadBalancer: {} } },
    health: { state: "Ready", reason: "WaitingForAddress", message: "the cluster has not assigned an address" },
  },

  "a bound claim is ready": { given: claim, health: { state: "Ready" } },
  "a claim whose volume is lost has failed": {
    given: { ...claim, status: { phase: "Lost" } },
    health: { state: "Failed", reason: "Failed", message: "the volume is lost" },
  },
  "a claim without a status is applied": {
    given: { ...claim, status: {} },
    health: { state: "Applied", reason: "NotReady", message: "the cluster has not processed the claim" },
  },
  "a claim that waits for its first consumer is ready": {
    given: { ...claim, status: { phase: "Pending" } },
    health: {
      state: "Ready",
      reason: "WaitingForConsumer",
      message: "no volume is bound; the claim may wait for a pod that uses it",
    },
  },
  "a claim whose volume is being provisioned is applied": {
    given: {
      ...claim,
      status: { phase: "Pending" },
      annotations: { "volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com" },
    },
    health: { state: "Applied", reason: "NotReady", message: "no volume is bound yet" },
  },
  "a claim without a storage class is applied, because a user has to create its volume": {
    given: { ...claim, spec: { storageClassName: "" }, status: { phase: "Pending" } },
    health: { state: "Applied", reason: "NotReady", message: "no volume is bound yet" },
  },

  "an autoscaler that scales is ready": { given: autoscaler, health: { state: "Ready" } },
  "an autoscaler without a status is ready": {
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
  "an autoscaler whose target has zero replicas is ready": {
    given: {
      ...autoscaler,
      status: withCondition(autoscaler, "ScalingActive", { status: "False", reason: "ScalingDisabled" }),
    },
    health: { state: "Ready" },
  },

  "a ConfigMap is ready once it exists": { given: configMap, health: { state: "Ready" } },
  "a Secret is ready once it exists": { given: secret, health: { state: "Ready" } },
  "a ServiceAccount is ready once it exists": { given: serviceAccount, health: { state: "Ready" } },

  "a custom resource that is Ready is ready": { given: database, health: { state: "Ready" } },
  "a custom resource that is not Ready is applied": {
    given: {
      ...database,
      status: withCondition(database, "Ready", { status: "False", reason: "NoDisk", message: "full" }),
    },
    health: { state: "Applied", reason: "NotReady", message: "NoDisk: full" },
  },
  "a custom resource with the status of an earlier generation is applied": {
    given: { ...database, generation: 4 },
    health: {
      state: "Applied",
      reason: "LatestGenerationNotObserved",
      message: "the cluster's controllers have not observed the latest generation",
    },
  },
  "a custom resource whose Ready condition is of an earlier generation is applied": {
    given: { ...database, generation: 4, status: altered(database, { observedGeneration: undefined }) },
    health: {
      state: "Applied",
      reason: "LatestGenerationNotObserved",
      message: "the cluster's controllers have not observed the latest generation",
    },
  },
  "an observedGeneration that is a string is parsed": {
    given: { ...database, generation: 4, status: { observedGeneration: "3" } },
    health: {
      state: "Applied",
      reason: "LatestGenerationNotObserved",
      message: "the cluster's controllers have not observed the latest generation",
    },
  },
  "the condition Ready precedes Available": {
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
  "the condition Available is used if Ready is missing": {
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
  "a custom resource with a phase that ends in -ing is applied": {
    given: { ...database, status: { phase: "Provisioning" } },
    health: { state: "Applied", reason: "NotReady", message: "it is Provisioning" },
  },
  "a custom resource in the state Running is ready": {
    given: { ...database, status: { state: "Running" } },
    health: { state: "Ready" },
  },
  "a custom resource with a phase of failure has failed": {
    given: { ...database, status: { phase: "Error" } },
    health: { state: "Failed", reason: "Failed", message: "it is Error" },
  },
  "a custom resource with an unknown phase is ready": {
    given: { ...database, status: { phase: "Blue" } },
    health: { state: "Ready" },
  },
  "a custom resource with too few ready replicas is applied": {
    given: { ...database, spec: { replicas: 3 }, status: { readyReplicas: 1 } },
    health: {
      state: "Applied",
      desiredReplicas: 3,
      readyReplicas: 1,
      reason: "NotReady",
      message: "not all replicas are ready",
    },
  },
  "a custom resource without a status is ready once it exists": {
    given: { ...database, status: undefined },
    health: { state: "Ready" },
  },
  "conditions of an unexpected form are ignored": {
    given: { ...database, status: { conditions: ["Ready"], phase: 3 } },
    health: { state: "Ready" },
  },
  "a kind of another group with a built-in name is treated as a custom resource": {
    given: { apiVersion: "example.com/v1", kind: "Deployment", generation: 1, status: {} },
    health: { state: "Ready" },
  },
};
