import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { objectName } from "./names.ts";
import { choice, flag, list, listMap, object, required, set, text, time, whole } from "./schema.ts";

const workloadReference = object("The workload that this record is about; it is in the same namespace.", {
  apiVersion: required(text("The workload's apiVersion.", { minLength: 1, maxLength: 317 })),
  kind: required(text("The workload's kind.", { minLength: 1, maxLength: 63 })),
  name: required(objectName("The workload's name.")),
  uid: text("The workload's uid: one that was made anew under the same name is another.", { maxLength: 63 }),
});

const reference = object("An object that the workload refers to, in the same namespace.", {
  kind: required(choice("Its kind.", ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"])),
  name: required(objectName("Its name.")),
});

/** What a copy can be in. */
export const copyStates = ["Pending", "Applied", "Ready", "Failed", "Held", "Evicting", "Stale", "Paused"] as const;
export type CopyState = (typeof copyStates)[number];

const clusterState = object("What was seen of the workload on one cluster.", {
  name: required(objectName("The name of the ClusterRegistration.")),
  state: required(
    choice(
      "Pending: not there yet; Applied: there, and not ready; Ready: there and ready; Failed: the cluster refuses it; Held: it would leave, and somebody has to confirm; Leaving: it is to go; Stale: the cluster is not heard from; Paused: nothing is written.",
      copyStates,
    ),
  ),
  reason: text("The cause in one word, from a closed list.", { minLength: 1, maxLength: 63 }),
  message: text("The cause in a sentence, for people; the cluster's own words where it has any.", { maxLength: 1024 }),
  generation: whole("The generation of the workload that was last written there.", { minimum: 0 }),
  appliedHash: text("The fingerprint of what was last written there.", { maxLength: 64 }),
  appliedVersion: text(
    "The generation or version that the copy had after that; another one means that somebody changed it.",
    {
      maxLength: 64,
    },
  ),
  uid: text("The copy's uid.", { maxLength: 63 }),
  desiredReplicas: whole("How many replicas it is to have there.", { minimum: 0 }),
  readyReplicas: whole("How many of them are ready.", { minimum: 0 }),
  referencesHash: text("The fingerprint of what the workload refers to, as it was last written there.", {
    maxLength: 64,
  }),
  lastObservedTime: time("When the cluster last told something new of it."),
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
    placement: objectName("The placement that says where it belongs; nothing while none does."),
    clusters: set(
      "The clusters that have it or may have it. A cluster is named here before anything is written there, and until it has been seen to be without.",
      objectName("The name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    pendingCleanup: set(
      "Clusters that are without it again, and may still have what came along with it.",
      objectName("The name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    references: list("What comes along with it.", reference, { maxItems: 1000 }),
    deletionPolicy: choice("What becomes of a copy that leaves, as the placement last said.", ["Delete", "Orphan"]),
    deleted: flag("The workload was deleted; a cluster that could not be asked then still has its copy."),
  }),
  status: object("What was seen on the clusters.", {
    clusters: listMap("What was seen, one entry for each cluster.", "name", clusterState, { maxItems: 1000 }),
    conditions,
    observedGeneration,
  }),
});

/** A record of a placed workload, as the server stores it. */
export type WorkloadSync = KindOf<typeof workloadSync>;
