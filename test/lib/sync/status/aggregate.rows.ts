import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { altered, withCondition } from "../../../support/copy-status-builders.ts";
import {
  autoscaler,
  claim,
  cronJob,
  daemonSet,
  database,
  deployment,
  ingress,
  job,
  replicaSet,
  runningJob,
  type Sample,
  service,
  statefulSet,
} from "./samples.ts";

type Row = Readonly<{
  sample: Sample;
  copies: Readonly<Record<string, JsonObject | undefined>>;
  /** The whole of it, without observedGeneration where all clusters have reached it. */
  status: JsonObject;
}>;

const [available = {}, progressing = {}] = (deployment.status?.conditions ?? []) as JsonObject[];
const [criteriaMet = {}, complete = {}] = (job.status?.conditions ?? []) as JsonObject[];
const [ableToScale = {}, scalingActive = {}, scalingLimited = {}] = (autoscaler.status?.conditions ??
  []) as JsonObject[];

/** What becomes of the statuses of two and three clusters, type by type. */
export const rows: Readonly<Record<string, Row>> = {
  "a Deployment has the sum of the replicas of both clusters": {
    sample: deployment,
    copies: { east: deployment.status, west: deployment.status },
    status: {
      replicas: 6,
      updatedReplicas: 6,
      readyReplicas: 6,
      availableReplicas: 6,
      conditions: [available, progressing],
    },
  },
  "the Available condition of a Deployment is that of its worst cluster and names it": {
    sample: deployment,
    copies: {
      east: deployment.status,
      north: altered(deployment, {
        readyReplicas: undefined,
        availableReplicas: undefined,
        unavailableReplicas: 3,
        collisionCount: 1,
        conditions: [
          // In the other order, and with another name of its replica set.
          { ...progressing, message: 'ReplicaSet "web-77" is progressing.', reason: "ReplicaSetUpdated" },
          {
            ...available,
            status: "False",
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.",
            lastTransitionTime: "2026-03-01T11:00:00Z",
            lastUpdateTime: "2026-03-01T11:00:00Z",
          },
        ],
      }),
      west: deployment.status,
    },
    status: {
      replicas: 9,
      updatedReplicas: 9,
      readyReplicas: 6,
      availableReplicas: 6,
      unavailableReplicas: 3,
      conditions: [
        {
          type: "Available",
          status: "False",
          reason: "MinimumReplicasUnavailable",
          message: "north: Deployment does not have minimum availability.",
          lastTransitionTime: "2026-03-01T11:00:00Z",
          lastUpdateTime: "2026-03-01T11:00:00Z",
        },
        {
          ...progressing,
          message:
            'east, west: ReplicaSet "web-5d9f7b" has successfully progressed.; north: ReplicaSet "web-77" is progressing.',
        },
      ],
    },
  },
  "a Deployment reports that one cluster rejects its pods": {
    sample: deployment,
    copies: {
      east: deployment.status,
      west: altered(deployment, {
        conditions: [
          available,
          progressing,
          {
            type: "ReplicaFailure",
            status: "True",
            reason: "FailedCreate",
            message: "exceeded quota",
            lastTransitionTime: "2026-03-01T11:00:00Z",
          },
        ],
      }),
    },
    status: {
      replicas: 6,
      updatedReplicas: 6,
      readyReplicas: 6,
      availableReplicas: 6,
      conditions: [
        available,
        progressing,
        {
          type: "ReplicaFailure",
          status: "True",
          reason: "FailedCreate",
          message: "west: exceeded quota",
          lastTransitionTime: "2026-03-01T11:00:00Z",
        },
      ],
    },
  },
  "the Available condition of a Deployment is Unknown if a cluster does not report it": {
    sample: deployment,
    copies: { east: deployment.status, west: undefined },
    status: {
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
      conditions: [
        {
          type: "Available",
          status: "Unknown",
          reason: "NotReported",
          message: "west: not reported",
          lastTransitionTime: "2026-03-01T12:00:00Z",
        },
        {
          type: "Progressing",
          status: "Unknown",
          reason: "NotReported",
          message: "west: not reported",
          lastTransitionTime: "2026-03-01T12:00:00Z",
        },
      ],
    },
  },

  "a StatefulSet has no revision if the clusters' revisions differ": {
    sample: statefulSet,
    copies: {
      east: altered(statefulSet, { currentReplicas: undefined, currentRevision: "db-9", updateRevision: "db-9" }),
      west: altered(statefulSet, { updatedReplicas: 1, currentReplicas: 1, updateRevision: "db-9" }),
    },
    status: {
      replicas: 4,
      readyReplicas: 4,
      currentReplicas: 1,
      updatedReplicas: 3,
      availableReplicas: 4,
      updateRevision: "db-9",
    },
  },
  "a DaemonSet has the sum of the nodes of all clusters": {
    sample: daemonSet,
    copies: {
      east: daemonSet.status,
      west: altered(daemonSet, { numberReady: 3, numberAvailable: 3, numberUnavailable: 2, numberMisscheduled: 1 }),
    },
    status: {
      currentNumberScheduled: 10,
      desiredNumberScheduled: 10,
      numberMisscheduled: 1,
      numberReady: 8,
      updatedNumberScheduled: 10,
      numberAvailable: 8,
      numberUnavailable: 2,
    },
  },
  "a ReplicaSet has the sum of the replicas of three clusters": {
    sample: replicaSet,
    copies: {
      east: replicaSet.status,
      north: altered(replicaSet, { readyReplicas: 1, availableReplicas: undefined }),
      west: replicaSet.status,
    },
    status: {
      replicas: 6,
      fullyLabeledReplicas: 6,
      readyReplicas: 5,
      availableReplicas: 4,
    },
  },

  "a Job is complete when it is complete on every cluster, with the latest completion time": {
    sample: job,
    copies: {
      east: job.status,
      west: altered(job, {
        startTime: "2026-03-01T09:59:00Z",
        completionTime: "2026-03-01T10:30:00Z",
        uncountedTerminatedPods: {},
        conditions: [criteriaMet, { ...complete, lastTransitionTime: "2026-03-01T10:30:00Z" }],
      }),
    },
    status: {
      succeeded: 4,
      ready: 0,
      terminating: 0,
      startTime: "2026-03-01T09:59:00Z",
      completionTime: "2026-03-01T10:30:00Z",
      conditions: [criteriaMet, { ...complete, lastTransitionTime: "2026-03-01T10:30:00Z" }],
    },
  },
  "a Job that runs on one cluster is not complete": {
    sample: job,
    copies: { east: job.status, west: runningJob.status },
    status: { active: 2, succeeded: 2, ready: 2, terminating: 0, startTime: "2026-03-01T10:00:00Z" },
  },
  "a Job that failed on one cluster has failed": {
    sample: job,
    copies: {
      east: job.status,
      west: {
        failed: 7,
        startTime: "2026-03-01T10:00:00Z",
        conditions: [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "backoff limit" }],
      },
    },
    status: {
      succeeded: 2,
      failed: 7,
      ready: 0,
      terminating: 0,
      startTime: "2026-03-01T10:00:00Z",
      conditions: [{ type: "Failed", status: "True", reason: "BackoffLimitExceeded", message: "west: backoff limit" }],
    },
  },
  "a CronJob has the latest schedule time and the active Jobs of all clusters": {
    sample: cronJob,
    copies: {
      east: cronJob.status,
      west: {
        active: [{ apiVersion: "batch/v1", kind: "Job", name: "report-1", namespace: "tmc-shop-1", uid: "u1" }],
        lastScheduleTime: "2026-03-01T10:04:00Z",
        lastSuccessfulTime: "2026-03-01T10:04:30Z",
      },
    },
    status: {
      active: [
        { apiVersion: "batch/v1", kind: "Job", name: "report-1", namespace: "tmc-shop-1", uid: "u1" },
        { apiVersion: "batch/v1", kind: "Job", name: "report-2", namespace: "tmc-shop-1", uid: "u2" },
      ],
      lastScheduleTime: "2026-03-01T10:05:00Z",
      lastSuccessfulTime: "2026-03-01T10:04:30Z",
    },
  },

  "a Service has the addresses of all clusters without duplicates": {
    sample: service,
    copies: {
      east: { loadBalancer: { ingress: [{ ip: "203.0.113.9" }, { ip: "203.0.113.7", ipMode: "VIP" }] } },
      north: { loadBalancer: {} },
      west: service.status,
    },
    status: { loadBalancer: { ingress: [{ ip: "203.0.113.7", ipMode: "VIP" }, { ip: "203.0.113.9" }] } },
  },
  "a Service without an address on any cluster has none": {
    sample: service,
    copies: { east: { loadBalancer: {} }, west: { loadBalancer: {} } },
    status: { loadBalancer: {} },
  },
  "a Service reports the error condition of one cluster": {
    sample: service,
    copies: {
      east: { loadBalancer: {}, conditions: [{ type: "LoadBalancerPortsError", status: "False" }] },
      west: { loadBalancer: {}, conditions: [{ type: "LoadBalancerPortsError", status: "True", message: "taken" }] },
    },
    status: {
      loadBalancer: {},
      conditions: [{ type: "LoadBalancerPortsError", status: "True", message: "west: taken" }],
    },
  },
  "an Ingress has the addresses of all clusters": {
    sample: ingress,
    copies: { east: { loadBalancer: { ingress: [{ hostname: "lb-0.example.com" }] } }, west: ingress.status },
    status: {
      loadBalancer: {
        ingress: [
          { hostname: "lb-0.example.com" },
          { hostname: "lb-1.example.com", ports: [{ port: 443, protocol: "TCP" }] },
        ],
      },
    },
  },
  "a claim has the phase of its worst cluster": {
    sample: claim,
    copies: { east: claim.status, west: { phase: "Pending" } },
    status: { phase: "Pending" },
  },
  "a claim that is Lost on one cluster is Lost": {
    sample: claim,
    copies: { east: claim.status, north: { phase: "Lost" }, west: { phase: "Pending" } },
    status: { phase: "Lost" },
  },
  "a claim has the smallest capacity and the common access modes": {
    sample: claim,
    copies: {
      east: claim.status,
      west: altered(claim, {
        accessModes: ["ReadWriteMany", "ReadWriteOnce"],
        capacity: { storage: "10000Mi" },
        conditions: [{ type: "FileSystemResizePending", status: "True", message: "waits for a pod" }],
      }),
    },
    status: {
      phase: "Bound",
      accessModes: ["ReadWriteOnce"],
      capacity: { storage: "8Gi" },
      conditions: [{ type: "FileSystemResizePending", status: "True", message: "west: waits for a pod" }],
    },
  },
  "an autoscaler has the sum of the replicas and no metrics if they differ": {
    sample: autoscaler,
    copies: {
      east: autoscaler.status,
      west: altered(autoscaler, {
        currentReplicas: 5,
        desiredReplicas: 10,
        lastScaleTime: "2026-03-01T11:00:00Z",
        currentMetrics: [],
        conditions: [
          ableToScale,
          scalingActive,
          {
            ...scalingLimited,
            status: "True",
            reason: "TooManyReplicas",
            message: "the desired count is more than the maximum",
            lastTransitionTime: "2026-03-01T11:00:00Z",
          },
        ],
      }),
    },
    status: {
      currentReplicas: 8,
      desiredReplicas: 13,
      lastScaleTime: "2026-03-01T11:00:00Z",
      conditions: [
        ableToScale,
        scalingActive,
        {
          ...scalingLimited,
          status: "True",
          reason: "TooManyReplicas",
          message: "west: the desired count is more than the maximum",
          lastTransitionTime: "2026-03-01T11:00:00Z",
        },
      ],
    },
  },

  "a custom resource keeps equal fields, adds no numbers, and has the Ready condition of its worst cluster": {
    sample: database,
    copies: {
      east: database.status,
      north: withCondition(database, "Ready", {
        status: "False",
        reason: "NoDisk",
        message: "full",
        lastTransitionTime: "2026-03-01T11:00:00Z",
      }),
      west: altered(database, {
        size: 20,
        endpoint: { host: "db2.example.com", port: 5432 },
        tags: ["blue"],
        leader: "x",
      }),
    },
    status: {
      phase: "Running",
      endpoint: { port: 5432 },
      conditions: [
        {
          type: "Ready",
          status: "False",
          reason: "NoDisk",
          message: "north: full",
          lastTransitionTime: "2026-03-01T11:00:00Z",
          observedGeneration: 7,
        },
      ],
    },
  },
  "the selector of the scale subresource is kept if it is equal": {
    sample: database,
    copies: { east: { selector: "app=db", replicas: 2 }, west: { selector: "app=db", replicas: 3 } },
    status: { selector: "app=db" },
  },
  "conditions of an unexpected form are treated like any other field": {
    sample: database,
    copies: { east: { conditions: "fine", phase: "Running" }, west: { conditions: "fine" } },
    status: { conditions: "fine" },
  },
};
