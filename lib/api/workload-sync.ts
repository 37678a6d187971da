import { conditionsField, objectNameField, observedGenerationField } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import {
  booleanField,
  enumField,
  integerField,
  listField,
  listMapField,
  objectField,
  requiredField,
  setField,
  stringField,
  timeField,
} from "./schema.ts";

const workloadReference = objectField("The workload that this object records. It is in the same namespace.", {
  apiVersion: requiredField(stringField("API version of the workload.", { minLength: 1, maxLength: 317 })),
  kind: requiredField(stringField("Kind of the workload.", { minLength: 1, maxLength: 63 })),
  name: requiredField(objectNameField("Name of the workload.")),
  uid: stringField(
    "UID of the workload. A workload that was deleted and created again under the same name has another UID.",
    { maxLength: 63 },
  ),
});

const reference = objectField("An object in the same namespace that the workload references.", {
  kind: requiredField(
    enumField("Kind of the object.", ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"]),
  ),
  name: requiredField(objectNameField("Name of the object.")),
});

/** The states of a downstream copy. */
export const copyStates = ["Pending", "Applied", "Ready", "Failed", "Held", "Evicting", "Stale", "Paused"] as const;
export type CopyState = (typeof copyStates)[number];

const clusterState = objectField("Observed state of the workload's copy on one cluster.", {
  name: requiredField(objectNameField("Name of the ClusterRegistration.")),
  state: requiredField(
    enumField(
      "State of the copy. Pending: not on the cluster yet. Applied: on the cluster, but not ready. Ready: on the cluster and ready. Failed: the cluster rejects it, or it has failed there. Held: it would be deleted, but a user must confirm first. Evicting: it will be deleted. Stale: the cluster cannot be reached, so the state is not known. Paused: TMC does not write it.",
      copyStates,
    ),
  ),
  reason: stringField("Machine-readable reason for the state, one of a fixed list.", { minLength: 1, maxLength: 63 }),
  message: stringField(
    "Human-readable explanation of the state. Contains the cluster's own error message if there is one.",
    { maxLength: 1024 },
  ),
  generation: integerField("metadata.generation of the workload that was last written to the cluster.", {
    minimum: 0,
  }),
  appliedHash: stringField("Hash of the manifest that was last written to the cluster.", { maxLength: 64 }),
  appliedVersion: stringField(
    "Generation or resourceVersion of the copy after TMC last wrote it. A different value on the cluster means that the copy was changed there.",
    {
      maxLength: 64,
    },
  ),
  uid: stringField("UID of the copy.", { maxLength: 63 }),
  desiredReplicas: integerField("Number of replicas that the copy should have. Unset for types without replicas.", {
    minimum: 0,
  }),
  readyReplicas: integerField("Number of ready replicas of the copy. Unset for types without replicas.", {
    minimum: 0,
  }),
  referencesHash: stringField("Hash of the referenced objects that were last written to the cluster.", {
    maxLength: 64,
  }),
  lastObservedTime: timeField("When TMC last observed a change of the copy."),
});

/** The sync record of one placed workload. */
export const workloadSync = defineKind({
  group,
  version,
  kind: "WorkloadSync",
  plural: "workloadsyncs",
  // kcp uses the short name `ws` for workspaces.
  shortNames: ["wsync"],
  categories: ["kcp"],
  scope: "Namespaced",
  description:
    "WorkloadSync records on which clusters one workload runs and in which state. Written by TMC. To change where the workload runs, change the workload or its WorkloadPlacement.",
  columns: [
    { name: "Kind", type: "string", jsonPath: ".spec.workload.kind" },
    { name: "Workload", type: "string", jsonPath: ".spec.workload.name" },
    { name: "Clusters", type: "string", jsonPath: ".status.clusterSummary" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Message", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
  ],
  spec: objectField("The workload and the clusters that may have a copy of it. Written by TMC.", {
    workload: requiredField(workloadReference),
    placement: objectNameField(
      "Name of the WorkloadPlacement that places the workload. Unset while no placement selects it. Written by TMC.",
    ),
    clusters: setField(
      "Names of the clusters that have a copy of the workload or may have one. TMC adds a cluster before it writes there for the first time, and removes it after it has verified that the copy is gone. Written by TMC.",
      objectNameField("Name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    pendingCleanup: setField(
      "Names of the clusters that no longer have a copy of the workload but may still have objects that it references. Written by TMC.",
      objectNameField("Name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    references: listField(
      "Objects that the workload references. TMC syncs them to the same clusters. Written by TMC.",
      reference,
      { maxItems: 1000 },
    ),
    deletionPolicy: enumField(
      "deletionPolicy of the placement when TMC last read it: whether copies that are evicted are deleted or orphaned. Written by TMC.",
      ["Delete", "Orphan"],
    ),
    deleted: booleanField(
      "Whether the workload was deleted. Clusters that could not be reached since then still have a copy. Written by TMC.",
    ),
  }),
  status: objectField("Observed state of the workload on its clusters. Written by TMC.", {
    clusters: listMapField(
      "Observed state of the copies, one entry per cluster. Written by TMC.",
      "name",
      clusterState,
      { maxItems: 1000 },
    ),
    clusterSummary: stringField(
      "Names of the clusters in status.clusters in one line, for kubectl get; of many the first five. Written by TMC.",
      { maxLength: 1400 },
    ),
    conditions: conditionsField,
    observedGeneration: observedGenerationField,
  }),
});

/** A WorkloadSync as the API server returns it. */
export type WorkloadSync = KindOf<typeof workloadSync>;
