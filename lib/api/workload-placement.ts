import { capabilityTypeField, conditionsField, objectNameField, observedGenerationField } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import {
  booleanField,
  enumField,
  integerField,
  jsonField,
  listField,
  listMapField,
  objectField,
  requiredField,
  setField,
  stringField,
  stringMapField,
  timeField,
} from "./schema.ts";
import { copyStates } from "./workload-sync.ts";

const selectorRequirement = objectField("A requirement on one label.", {
  key: requiredField(stringField("Key of the label.", { minLength: 1, maxLength: 317 })),
  operator: requiredField(
    enumField(
      "How the label is compared. In and NotIn compare its value with values; Exists and DoesNotExist check only for the key.",
      ["In", "NotIn", "Exists", "DoesNotExist"],
    ),
  ),
  values: listField(
    "Values for In and NotIn. Must be unset for Exists and DoesNotExist.",
    stringField("A label value.", { maxLength: 63 }),
    { maxItems: 64 },
  ),
});

const labelSelector = (description: string) =>
  objectField(
    description,
    {
      matchLabels: stringMapField("Labels and the values that they must have. All must match.", { maxProperties: 64 }),
      matchExpressions: listField("Requirements on labels. All must match.", selectorRequirement, { maxItems: 64 }),
    },
    { "x-kubernetes-map-type": "atomic" },
  );

const capabilityRequirement = objectField("A capability that the placement requires or prefers.", {
  type: requiredField(
    capabilityTypeField(
      "Type of the capability, as declared in spec.capabilities of a ClusterRegistration or detected.",
    ),
  ),
  required: booleanField(
    "If true, clusters without the capability are rejected. If false, the capability only raises a cluster's score. Defaults to true.",
    { default: true },
  ),
  minVersion: stringField(
    "Lowest accepted version. A cluster whose version is not known does not meet it. If unset, any version is accepted.",
    {
      minLength: 1,
      maxLength: 63,
    },
  ),
});

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

const toleration = objectField("A toleration: the placement ignores the taints that it matches.", {
  key: stringField("Key of the taint. If unset, operator must be Exists, and the toleration matches every key.", {
    maxLength: 317,
  }),
  operator: enumField(
    "Equal matches taints with the same value, Exists any value. Defaults to Equal.",
    ["Equal", "Exists"],
    {
      default: "Equal",
    },
  ),
  value: stringField("Value of the taint, for operator Equal.", { maxLength: 63 }),
  effect: enumField("Effect of the taint. If unset, the toleration matches all effects.", taintEffects),
  tolerationSeconds: integerField(
    "Seconds for which a NoExecute taint is tolerated, counted from its timeAdded. If unset, it is tolerated forever. The key tmc.kcp.io/not-ready stands for a cluster that is not Ready, which is tolerated for 300 seconds by default.",
    { minimum: 0 },
  ),
});

const selectorTerms = (description: string) =>
  listField(description, labelSelector("Selects clusters by their labels and derived keys."), { maxItems: 32 });

const weightedSelectorTerms = (description: string) =>
  listField(
    description,
    objectField("A cluster selector with a weight.", {
      weight: requiredField(
        integerField("Weight that is added to or subtracted from the score of a matching cluster, from 1 to 100.", {
          minimum: 1,
          maximum: 100,
          format: "int32",
        }),
      ),
      term: requiredField(labelSelector("Selects clusters by their labels and derived keys.")),
    }),
    { maxItems: 32 },
  );

const spreadConstraint = objectField(
  "Limits how unevenly the selected clusters may be distributed over the values of a label.",
  {
    topologyKey: requiredField(
      stringField("Label key, or one of the derived keys location, region, zone, provider and environment.", {
        minLength: 1,
        maxLength: 317,
      }),
    ),
    maxSkew: integerField(
      "Maximum difference between the number of selected clusters of any two values of the label. Defaults to 1.",
      {
        minimum: 1,
        default: 1,
        format: "int32",
      },
    ),
    whenUnsatisfiable: enumField(
      "What happens if maxSkew would be exceeded. DoNotSchedule: fewer clusters are selected. ScheduleAnyway: the clusters are selected, and the status reports the skew. Defaults to DoNotSchedule.",
      ["DoNotSchedule", "ScheduleAnyway"],
      { default: "DoNotSchedule" },
    ),
  },
);

const workloadType = objectField("A workload type.", {
  apiVersion: requiredField(
    stringField("API version of the type, for example apps/v1.", { minLength: 1, maxLength: 317 }),
  ),
  kind: requiredField(stringField("Kind of the type, for example Deployment.", { minLength: 1, maxLength: 63 })),
});

const workloadSelector = objectField(
  "Selects the workloads to place. All given criteria must match; an omitted criterion matches everything. If unset, the placement selects nothing.",
  {
    labelSelector: labelSelector("Selects workloads by their labels. If unset, workloads with any labels match."),
    workloadTypes: listField(
      "Types of the workloads to select. If unset, all workload types except ConfigMaps, Secrets and ServiceAccounts match; these match only if listed here. The objects that a pod template references are synced with the workload in any case. Clusters that are known not to serve a listed type are rejected.",
      workloadType,
      { maxItems: 64 },
    ),
    namespaceSelector: labelSelector(
      "Selects workloads by the labels of their namespace. If unset, workloads in all namespaces match.",
    ),
    namespaces: setField(
      "Names of the namespaces whose workloads match. If unset, workloads in all namespaces match.",
      stringField("Name of a namespace.", { minLength: 1, maxLength: 63 }),
      {
        maxItems: 256,
      },
    ),
    excludedNamespaces: setField(
      "Names of namespaces whose workloads never match. Takes precedence over the other criteria.",
      stringField("Name of a namespace.", { minLength: 1, maxLength: 63 }),
      { maxItems: 256 },
    ),
  },
);

const replicaCount = (description: string) => integerField(description, { minimum: 0, format: "int32" });

const replicaRule = objectField(
  "How many replicas of a workload each cluster runs. If unset, each cluster runs the number in the workload's spec.replicas.",
  {
    mode: enumField(
      "Duplicated: each cluster runs the number of replicas in the workload. Divided: the clusters share that number. Defaults to Duplicated.",
      ["Duplicated", "Divided"],
      { default: "Duplicated" },
    ),
    divideBy: enumField(
      "How mode Divided computes the shares. Weights: by the weights in clusters, where a cluster without a weight counts as 1. Capacity: by the allocatable CPU of the clusters. Defaults to Weights.",
      ["Weights", "Capacity"],
      { default: "Weights" },
    ),
    min: replicaCount(
      "Minimum number of replicas per cluster in mode Divided. Not met if the workload has too few replicas for all clusters. Defaults to 0.",
    ),
    max: replicaCount(
      "Maximum number of replicas per cluster. Replicas that exceed it on all clusters are not placed, and the WorkloadSync has the condition ReplicasPlaced=False. If unset, there is no maximum.",
    ),
    clusters: listMapField(
      "Settings for single clusters. They override min and max above.",
      "name",
      objectField("Settings for one cluster.", {
        name: requiredField(objectNameField("Name of the ClusterRegistration.")),
        weight: integerField(
          "Weight of the cluster in mode Divided. With 0, the cluster gets only its minimum. Defaults to 1.",
          {
            minimum: 0,
            maximum: 1_000_000,
            format: "int32",
          },
        ),
        min: replicaCount("Minimum number of replicas on this cluster. Defaults to spec.replicas.min."),
        max: replicaCount("Maximum number of replicas on this cluster. Defaults to spec.replicas.max."),
      }),
      { maxItems: 1000 },
    ),
  },
);

const override = objectField(
  "Changes to workloads on some clusters. The changes are applied in this order: imageHosts, labels, annotations, env, replicas, limits, patches. Strings may contain {{cluster.name}}, {{cluster.location}} and {{cluster.labels.<label>}}.",
  {
    name: stringField("Name of the override in messages. If unset, messages use its index.", {
      minLength: 1,
      maxLength: 63,
    }),
    clusterNames: setField(
      "Names of the clusters that the override applies to. If unset, it applies to all clusters.",
      objectNameField("Name of a ClusterRegistration."),
      {
        maxItems: 1000,
      },
    ),
    clusterSelector: labelSelector(
      "Selects the clusters that the override applies to, by their labels and derived keys. If unset, it applies to all clusters.",
    ),
    workloadTypes: listField(
      "Workload types that the override applies to. If unset, it applies to all types.",
      workloadType,
      { maxItems: 64 },
    ),
    imageHosts: listField(
      "Image registries to replace in all containers. If several entries match an image, the one with the longest from applies.",
      objectField("An image registry to replace.", {
        from: stringField(
          "Registry host to replace, optionally with port and path prefix. If unset, the host of every image is replaced.",
          {
            minLength: 1,
            maxLength: 255,
          },
        ),
        to: requiredField(
          stringField("Registry host to use instead, optionally with port and path prefix.", {
            minLength: 1,
            maxLength: 255,
          }),
        ),
      }),
      { maxItems: 16 },
    ),
    labels: stringMapField("Labels to set on the workload.", { maxProperties: 64 }),
    annotations: stringMapField("Annotations to set on the workload.", { maxProperties: 64 }),
    env: stringMapField(
      "Environment variables to set in all containers. An existing variable of the same name is replaced.",
      { maxProperties: 64 },
    ),
    replicas: replicaCount("Number of replicas to set. Ignored for types without replicas."),
    limits: objectField("Resource limits to set on all containers. Requests above a limit are lowered to it.", {
      cpu: stringField("CPU limit, as a Kubernetes quantity, for example 500m.", { minLength: 1, maxLength: 63 }),
      memory: stringField("Memory limit, as a Kubernetes quantity, for example 512Mi.", {
        minLength: 1,
        maxLength: 63,
      }),
    }),
    patches: listField(
      "JSON patch operations (RFC 6902) to apply to the workload.",
      objectField("A JSON patch operation.", {
        op: requiredField(
          enumField(
            "Operation. remove succeeds if the field does not exist. Items cannot be added to or removed from lists.",
            ["add", "replace", "remove"],
          ),
        ),
        path: requiredField(
          stringField(
            "JSON pointer to the field, for example /spec/template/spec/priorityClassName. apiVersion, kind, status and all metadata except single labels and annotations cannot be changed.",
            {
              minLength: 1,
              maxLength: 1024,
              pattern: "^(/[^/]*)+$",
            },
          ),
        ),
        value: jsonField("Value for add and replace. Ignored for remove."),
      }),
      { maxItems: 64 },
    ),
  },
);

const quantityText = (description: string) => stringField(description, { minLength: 1, maxLength: 63 });

const decision = objectField("The decision about one cluster.", {
  cluster: requiredField(objectNameField("Name of the ClusterRegistration.")),
  selected: requiredField(booleanField("Whether the cluster is selected.")),
  reason: requiredField(
    stringField("Machine-readable reason, one of a fixed list.", {
      minLength: 1,
      maxLength: 63,
    }),
  ),
  rule: stringField("The field of the placement that decided. Unset if none did.", { maxLength: 400 }),
  expected: stringField("What that field requires.", { maxLength: 400 }),
  actual: stringField("What the cluster has.", { maxLength: 400 }),
  until: timeField(
    "For a selected cluster that no longer fits: when it will be evicted. For a cluster that the placement fails back to: when it will be selected again. Otherwise unset.",
  ),
  score: integerField(
    "Score of a cluster that fits: the sum of parts. Higher scores are preferred; equal scores are ordered by name.",
  ),
  parts: listField(
    "Parts of the score.",
    objectField("One part of the score.", {
      name: requiredField(stringField("What the part is for.", { maxLength: 400 })),
      value: requiredField(integerField("Value that the part adds to the score. May be negative.")),
    }),
  ),
  message: requiredField(stringField("Human-readable explanation of the decision.", { maxLength: 1024 })),
});

const failbackEntry = objectField("A cluster that the placement will fail back to.", {
  cluster: requiredField(objectNameField("Name of the ClusterRegistration.")),
  reason: requiredField(
    stringField(
      "Why the placement left the cluster: the reason of the decision at that time. Preferred if the placement did not leave it but prefers it to a selected cluster.",
      {
        minLength: 1,
        maxLength: 63,
      },
    ),
  ),
  since: requiredField(timeField("When the placement left the cluster, or first preferred it.")),
  standIn: objectNameField("The cluster that is selected in its place. Unset if there is none."),
  fittingSince: timeField(
    "Since when the cluster has been Ready and has fit without interruption. Unset while it does not.",
  ),
});

const placedWorkload = objectField("A workload that is placed on clusters.", {
  apiVersion: requiredField(stringField("API version of the workload.", { minLength: 1, maxLength: 317 })),
  kind: requiredField(stringField("Kind of the workload.", { minLength: 1, maxLength: 63 })),
  namespace: requiredField(stringField("Namespace of the workload.", { minLength: 1, maxLength: 63 })),
  name: requiredField(objectNameField("Name of the workload.")),
  state: requiredField(
    enumField(
      "Ready if the WorkloadSync is Ready. Otherwise the worst state of the copies on the clusters.",
      copyStates,
    ),
  ),
  clusters: setField(
    "Names of the clusters that run the workload or may run it. At most the first ten.",
    objectNameField("Name of a ClusterRegistration."),
    {
      maxItems: 10,
    },
  ),
  moreClusters: integerField("Number of further clusters that are not listed. Unset if all are listed.", {
    minimum: 1,
  }),
  since: timeField("When the workload last became ready or stopped being ready."),
});

const pastDecision = objectField("A decision that changed which clusters are selected.", {
  time: requiredField(timeField("When the decision was made.")),
  reason: requiredField(
    enumField(
      "Cause of the decision: it was the first one, the placement changed, or the facts about the clusters changed.",
      ["FirstDecision", "PlacementChanged", "ClustersChanged"],
    ),
  ),
  clusters: requiredField(integerField("Number of selected clusters after the decision.", { minimum: 0 })),
  added: setField(
    "Names of the newly selected clusters. At most the first ten.",
    objectNameField("Name of a ClusterRegistration."),
    { maxItems: 10 },
  ),
  removed: setField(
    "Names of the clusters that are no longer selected. At most the first ten.",
    objectNameField("Name of a ClusterRegistration."),
    { maxItems: 10 },
  ),
  message: stringField("Human-readable explanation of the change.", { maxLength: 1024 }),
  generation: integerField("metadata.generation of the placement that the decision was made from."),
});

/** Selects workloads and the clusters that run them. */
export const workloadPlacement = defineKind({
  group,
  version,
  kind: "WorkloadPlacement",
  plural: "workloadplacements",
  shortNames: ["wp"],
  categories: ["kcp"],
  scope: "Cluster",
  description:
    "WorkloadPlacement selects workloads of the workspace and the registered clusters that run them. TMC chooses the clusters, explains the choice in the status and syncs the workloads to them.",
  columns: [
    { name: "Strategy", type: "string", jsonPath: ".spec.strategy" },
    { name: "Clusters", type: "string", jsonPath: ".status.clusterSummary" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Reason", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].reason' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    { name: "Message", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].message', priority: 1 },
  ],
  spec: objectField("Desired placement, written by the user.", {
    strategy: enumField(
      "How to choose among the clusters that fit. RoundRobin: distributes placements evenly; of the clusters with the highest score it takes those that the fewest placements use. Spread: all clusters. Affinity: the clusters with the highest score. Defaults to RoundRobin.",
      ["RoundRobin", "Spread", "Affinity"],
      { default: "RoundRobin" },
    ),
    locationSelector: labelSelector(
      "Selects the clusters to consider by their labels and the derived keys location, region, zone, provider and environment. If unset, all clusters are considered.",
    ),
    clusterNames: setField(
      "Names of the clusters to consider. If unset, all clusters are considered.",
      objectNameField("Name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    preferredClusters: setField(
      "Names of preferred clusters. They get a higher score and are not required.",
      objectNameField("Name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    numberOfClusters: integerField(
      "Maximum number of clusters to select. Defaults to 1 for RoundRobin and Affinity, and to all clusters that fit for Spread.",
      { minimum: 1, maximum: 1000, format: "int32" },
    ),
    capabilityRequirements: listMapField(
      "Capabilities that clusters must or should have, one entry per type. If unset, capabilities do not matter.",
      "type",
      capabilityRequirement,
      { maxItems: 64 },
    ),
    tolerations: listField("Tolerations for taints of clusters. If unset, no taint is tolerated.", toleration, {
      maxItems: 64,
    }),
    affinity: objectField(
      "Clusters to require, prefer or avoid, by their labels and the derived keys. If unset, there is no affinity.",
      {
        clusterAffinity: objectField("Clusters to run on.", {
          required: selectorTerms(
            "A cluster must match at least one of these terms. If unset, every cluster is accepted.",
          ),
          preferred: weightedSelectorTerms("A cluster's score rises by the weight of each term that it matches."),
        }),
        clusterAntiAffinity: objectField("Clusters to avoid.", {
          required: selectorTerms("A cluster must match none of these terms."),
          preferred: weightedSelectorTerms("A cluster's score falls by the weight of each term that it matches."),
        }),
      },
    ),
    spreadConstraints: listMapField(
      "Limits how unevenly the selected clusters may be distributed over regions, zones or other labels. If unset, distribution does not matter.",
      "topologyKey",
      spreadConstraint,
      { maxItems: 8 },
    ),
    failback: objectField(
      "Enables failback: the placement returns to a cluster that it left because of the cluster's state, or moves to a cluster that it prefers by affinity, preferredClusters or hint annotations. If unset, the placement stays on its current clusters.",
      {
        afterSeconds: requiredField(
          integerField(
            "Seconds for which the cluster must have been Ready and have fit without interruption before the placement returns to it.",
            { minimum: 1 },
          ),
        ),
      },
    ),
    resources: objectField(
      "Resources that the workloads need on each cluster. They are reserved there: a cluster is rejected if its allocatable resources, minus what the other placements of the workspace reserve on it and what running pods request that TMC did not place, are less. Clusters of unknown size are not rejected. If unset, the size of a cluster does not matter, and nothing is reserved.",
      {
        cpu: quantityText("CPU cores, as a Kubernetes quantity, for example 500m or 4."),
        memory: quantityText("Memory in bytes, as a Kubernetes quantity, for example 512Mi or 8Gi."),
      },
    ),
    scoring: enumField(
      "Which of the clusters with the same score are preferred, by the share of their allocatable CPU and memory that placements reserve. LeastAllocated: those with the smallest share. MostAllocated: those with the largest share (bin packing). If unset, RoundRobin prefers clusters with few placements, and the other strategies prefer large clusters.",
      ["LeastAllocated", "MostAllocated"],
    ),
    workloadSelector,
    replicas: replicaRule,
    overrides: listField(
      "Changes to workloads on some clusters. They are applied in order, each to the result of those before it. If unset, all clusters get the same workload.",
      override,
      {
        maxItems: 64,
      },
    ),
    deletionPolicy: enumField(
      "What happens to a workload on a cluster that is no longer selected. Delete: TMC deletes it there once it is ready on the selected clusters. Orphan: TMC leaves it there and stops managing it. Defaults to Delete.",
      ["Delete", "Orphan"],
      { default: "Delete" },
    ),
    volumes: enumField(
      "What happens to a workload that uses PersistentVolumeClaims if the placement selects other clusters. Retain: it stays on the clusters that have its data, with the reason VolumeNotMovable, and no new copy is created elsewhere. Recreate: it moves, new claims are created on the selected clusters, and the old claims are left behind. Deleting the workload or the placement is not affected. Defaults to Retain.",
      ["Retain", "Recreate"],
      { default: "Retain" },
    ),
    sharedStorageClasses: setField(
      "Names of storage classes whose volumes are available on all clusters. Claims of these classes do not keep a workload on its clusters. If unset, no class is shared.",
      stringField("Name of a StorageClass.", { minLength: 1, maxLength: 253 }),
      { maxItems: 64 },
    ),
    drift: enumField(
      "What TMC does if a workload is changed directly on a cluster. Revert: restore it. Report: only report the difference. Pause: report it and stop writing there until the difference is gone. Defaults to Revert.",
      ["Revert", "Report", "Pause"],
      { default: "Revert" },
    ),
    adoption: enumField(
      "What TMC does if a cluster already has an object of the same name that TMC does not own. Never: leave it alone. IfNoDiff: adopt it if it equals the workload. Always: adopt and overwrite it. Defaults to Never.",
      ["Never", "IfNoDiff", "Always"],
      { default: "Never" },
    ),
    customResources: enumField(
      "What TMC does if a cluster does not serve the type of a custom resource. Require: reject the cluster if workloadTypes lists the type, otherwise report TypeNotServed for the workload. Install: create the CustomResourceDefinition on the cluster; TMC never deletes it and never changes a definition that it does not own. Defaults to Require.",
      ["Require", "Install"],
      { default: "Require" },
    ),
    status: objectField("How TMC combines the status of a workload on several clusters.", {
      aggregation: enumField(
        "How the statuses of a custom resource are combined. Union: the values of all clusters; on conflict, the first cluster of the placement wins. Intersection: the values that are equal on all clusters. Priority: the status of the first cluster of the placement that reports one. Latest: the status that changed last. The annotation tmc.kcp.io/status-strategy of the workload takes precedence. If unset, the annotation on the type's definition applies, and without it only fields that are equal on all clusters are kept.",
        ["Union", "Intersection", "Priority", "Latest"],
      ),
      health: enumField(
        "On how many of its clusters a workload must be ready for its WorkloadSync to be Ready: All, Any, or Majority (more than half). Defaults to All.",
        ["All", "Any", "Majority"],
        { default: "All" },
      ),
    }),
  }),
  status: objectField("The decision and the state of the placed workloads. Written by TMC.", {
    conditions: conditionsField,
    strategy: stringField("Strategy that the decision used. Written by TMC.", { maxLength: 63 }),
    selectedClusters: setField(
      "Names of the selected clusters. Written by TMC.",
      objectNameField("Name of a ClusterRegistration."),
      {
        maxItems: 1000,
      },
    ),
    clusterSummary: stringField(
      "Names of the selected clusters in one line, for kubectl get; of many the first five. Written by TMC.",
      { maxLength: 1400 },
    ),
    decisions: listMapField(
      "The decision about each cluster: selected clusters first, then the others, those closest to being selected first. At most 100. Written by TMC.",
      "cluster",
      decision,
      { maxItems: 100 },
    ),
    decisionsOmitted: objectField(
      "Summary of the decisions that do not fit in decisions. Unset if all are listed. Written by TMC.",
      {
        count: requiredField(integerField("Number of omitted decisions.", { minimum: 1 })),
        reasons: listMapField(
          "Number of omitted decisions per reason.",
          "reason",
          objectField("One reason.", {
            reason: requiredField(stringField("The reason.", { minLength: 1, maxLength: 63 })),
            count: requiredField(integerField("Number of decisions with this reason.", { minimum: 1 })),
          }),
        ),
      },
    ),
    failback: listMapField(
      "Clusters that the placement will fail back to. Unset if spec.failback is unset. Written by TMC.",
      "cluster",
      failbackEntry,
      { maxItems: 1000 },
    ),
    evictedClusters: listMapField(
      "Clusters that the placement left most recently because of their state or by failback. The deletion guard does not hold deletions on these clusters. Written by TMC.",
      "cluster",
      objectField("A cluster that the placement left.", {
        cluster: requiredField(objectNameField("Name of the ClusterRegistration.")),
        reason: requiredField(
          stringField(
            "Why the placement left the cluster: the reason of the decision at that time. Returned if the placement failed back to another cluster.",
            {
              minLength: 1,
              maxLength: 63,
            },
          ),
        ),
        at: requiredField(timeField("When the placement left the cluster.")),
      }),
      { maxItems: 16 },
    ),
    placedWorkloads: listField(
      "Workloads that are placed on clusters, the most urgent states first. At most 200. Updated a few seconds after they change. Written by TMC.",
      placedWorkload,
      { maxItems: 200 },
    ),
    placedWorkloadsOmitted: objectField(
      "Summary of the workloads that do not fit in placedWorkloads. Unset if all are listed. Written by TMC.",
      {
        count: requiredField(integerField("Number of omitted workloads.", { minimum: 1 })),
        states: listMapField(
          "Number of omitted workloads per state.",
          "state",
          objectField("One state.", {
            state: requiredField(enumField("The state.", copyStates)),
            count: requiredField(integerField("Number of workloads in this state.", { minimum: 1 })),
          }),
        ),
      },
    ),
    placedWorkloadsTime: timeField("When placedWorkloads was last updated. Written by TMC."),
    history: listField(
      "The last ten decisions that changed which clusters are selected, newest first. Written by TMC.",
      pastDecision,
      {
        maxItems: 10,
      },
    ),
    notifiedHash: stringField(
      "Hash of the decision that workloads were last notified of. TMC uses it to notify them only of changes. Written by TMC.",
      { maxLength: 128 },
    ),
    observedGeneration: observedGenerationField,
  }),
});

/** A WorkloadPlacement as the API server returns it. */
export type WorkloadPlacement = KindOf<typeof workloadPlacement>;
