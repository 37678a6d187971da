import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { objectName } from "./names.ts";
import { listMap, object, required, set, text, time, whole } from "./schema.ts";

const workloadReference = object("The workload that this record is about; it is in the same namespace.", {
  apiVersion: required(text("The workload's apiVersion.", { minLength: 1, maxLength: 317 })),
  kind: required(text("The workload's kind.", { minLength: 1, maxLength: 63 })),
  name: required(objectName("The workload's name.")),
});

const clusterState = object("What was seen of the workload on one cluster.", {
  name: required(objectName("The name of the ClusterRegistration.")),
  observedGeneration: whole("The generation of the workload that the cluster had.", { minimum: 0 }),
  lastSeen: time("When the cluster was last asked and answered."),
});

/** TMC's record of one placed workload. */
export const workloadSync = defineKind({
  group,
  version,
  kind: "WorkloadSync",
  plural: "workloadsyncs",
  // `ws` is kcp's own, for workspaces.
  shortNames: ["wsync"],
  categories: ["kcp"],
  scope: "Namespaced",
  description:
    "WorkloadSync records where one workload runs. TMC writes it; change the workload or its placement instead.",
  columns: [
    { name: "Kind", type: "string", jsonPath: ".spec.workload.kind" },
    { name: "Workload", type: "string", jsonPath: ".spec.workload.name" },
    { name: "Clusters", type: "string", jsonPath: ".spec.clusters" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: object("Which workload belongs on which clusters.", {
    workload: required(workloadReference),
    clusters: set("The clusters that the workload belongs on.", objectName("The name of a ClusterRegistration."), {
      maxItems: 1000,
    }),
  }),
  status: object("What was seen on the clusters.", {
    clusters: listMap("What was seen, one entry for each cluster.", "name", clusterState, { maxItems: 1000 }),
    conditions,
    observedGeneration,
  }),
});

/** A record of a placed workload, as the server stores it. */
export type WorkloadSync = KindOf<typeof workloadSync>;
