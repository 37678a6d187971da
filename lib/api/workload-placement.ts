import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { capabilityType, objectName } from "./names.ts";
import { anyValue, choice, flag, list, listMap, object, required, set, text, textMap, time, whole } from "./schema.ts";
import { copyStates } from "./workload-sync.ts";

const selectorTerm = object("One requirement on a label.", {
  key: required(text("The label.", { minLength: 1, maxLength: 317 })),
  operator: required(choice("How the label is held against the values.", ["In", "NotIn", "Exists", "DoesNotExist"])),
  values: list(
    "The values for In and NotIn; left out for Exists and DoesNotExist.",
    text("A label value.", { maxLength: 63 }),
    { maxItems: 64 },
  ),
});

const labelSelector = (description: string) =>
  object(
    description,
    {
      matchLabels: textMap("Labels with the values that they must have.", { maxProperties: 64 }),
      matchExpressions: list("Requirements on labels; all of them must hold.", selectorTerm, { maxItems: 64 }),
    },
    { "x-kubernetes-map-type": "atomic" },
  );

const capabilityRequirement = object("One thing that is asked of a cluster.", {
  type: required(capabilityType("What it is: a type that clusters name among their capabilities.")),
  required: flag("Whether a cluster without it is out of the question; otherwise it only counts in its favour.", {
    default: true,
  }),
  minVersion: text("The lowest version that will do; a cluster that names no version has none that will.", {
    minLength: 1,
    maxLength: 63,
  }),
});

const taintEffects = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;

const toleration = object("One kind of taint that does not matter to this placement.", {
  key: text("The taint's key; left out, with operator Exists, it stands for every key.", { maxLength: 317 }),
  operator: choice("Equal asks for the same value, Exists for any.", ["Equal", "Exists"], { default: "Equal" }),
  value: text("The taint's value, for Equal.", { maxLength: 63 }),
  effect: choice("The taint's effect; left out it stands for all of them.", taintEffects),
  tolerationSeconds: whole(
    "How long a NoExecute taint is borne, counted from its timeAdded; for ever when left out. The key tmc.kcp.io/not-ready stands for a cluster that is not Ready: 300 seconds unless a toleration says otherwise.",
    { minimum: 0 },
  ),
});

const terms = (description: string) => list(description, labelSelector("Which clusters."), { maxItems: 32 });

const weightedTerms = (description: string) =>
  list(
    description,
    object("A selector and what it is worth.", {
      weight: required(whole("How much it counts.", { minimum: 1, maximum: 100, format: "int32" })),
      term: required(labelSelector("Which clusters.")),
    }),
    { maxItems: 32 },
  );

const spreadConstraint = object("How evenly clusters are to be chosen over the values of one label.", {
  topologyKey: required(
    text("The label, or one of the derived keys location, region, zone, provider, environment.", {
      minLength: 1,
      maxLength: 317,
    }),
  ),
  maxSkew: whole("By how many clusters the fullest value may be ahead of the emptiest.", {
    minimum: 1,
    default: 1,
    format: "int32",
  }),
  whenUnsatisfiable: choice(
    "DoNotSchedule leaves clusters out rather than exceed maxSkew, ScheduleAnyway only prefers not to and says by how much it did.",
    ["DoNotSchedule", "ScheduleAnyway"],
    { default: "DoNotSchedule" },
  ),
});

const workloadType = object("A type of workload.", {
  apiVersion: required(text("For example apps/v1.", { minLength: 1, maxLength: 317 })),
  kind: required(text("For example Deployment.", { minLength: 1, maxLength: 63 })),
});

const workloadSelector = object(
  "Which work this is about. A placement without it is about none; with it, about what all its parts name, and every part that is left out names all.",
  {
    labelSelector: labelSelector("Which workloads, by their labels."),
    workloadTypes: list(
      "Which types; left out, every type of workload that is offered. ConfigMaps, Secrets and ServiceAccounts only when they are named here; what a pod template refers to comes along by itself. A cluster must serve the types that are named; one whose types are not known may serve them.",
      workloadType,
      { maxItems: 64 },
    ),
    namespaceSelector: labelSelector("Which namespaces, by their labels."),
    namespaces: set("The only namespaces, by name.", text("A namespace.", { minLength: 1, maxLength: 63 }), {
      maxItems: 256,
    }),
    excludedNamespaces: set(
      "Namespaces that are left out, by name, whatever else names them.",
      text("A namespace.", { minLength: 1, maxLength: 63 }),
      { maxItems: 256 },
    ),
  },
);

const replicaCount = (description: string) => whole(description, { minimum: 0, format: "int32" });

const replicaRule = object("How many replicas each cluster gets.", {
  mode: choice(
    "Duplicated gives each cluster as many as the workload asks for, Divided shares these out among them.",
    ["Duplicated", "Divided"],
    { default: "Duplicated" },
  ),
  divideBy: choice(
    "What the shares follow: the weights given here (all alike when there are none), or the processors that the clusters have for pods.",
    ["Weights", "Capacity"],
    { default: "Weights" },
  ),
  min: replicaCount("The fewest that a cluster gets, where there are enough for all."),
  max: replicaCount("The most that a cluster gets; what then finds no room is left out, and said."),
  clusters: listMap(
    "What differs for single clusters.",
    "name",
    object("One cluster.", {
      name: required(objectName("The name of the ClusterRegistration.")),
      weight: whole("Its weight; 1 when it is left out, 0 for none beyond its min.", {
        minimum: 0,
        maximum: 1_000_000,
        format: "int32",
      }),
      min: replicaCount("The fewest that it gets."),
      max: replicaCount("The most that it gets."),
    }),
    { maxItems: 1000 },
  ),
});

const override = object(
  "What is different on some clusters. The parts are applied in the order in which they stand here. Texts may hold {{cluster.name}}, {{cluster.location}} and {{cluster.labels.<label>}}.",
  {
    name: text("What this is called in messages.", { minLength: 1, maxLength: 63 }),
    clusterNames: set("On which clusters, by name; all of them when it is left out.", objectName("A cluster."), {
      maxItems: 1000,
    }),
    clusterSelector: labelSelector("On which clusters, by their labels and the derived keys."),
    workloadTypes: list("For which types; all of them when it is left out.", workloadType, { maxItems: 64 }),
    imageHosts: list(
      "Hosts of images that are replaced, in all containers.",
      object("One host.", {
        from: text("The host, with its port and a part of the path if need be; left out, every image gets the other.", {
          minLength: 1,
          maxLength: 255,
        }),
        to: required(text("What takes its place.", { minLength: 1, maxLength: 255 })),
      }),
      { maxItems: 16 },
    ),
    labels: textMap("Labels that the object gets.", { maxProperties: 64 }),
    annotations: textMap("Annotations that the object gets.", { maxProperties: 64 }),
    env: textMap("Variables that every container gets, or has changed.", { maxProperties: 64 }),
    replicas: replicaCount("How many replicas, whatever the workload asks for."),
    limits: object("Limits that every container gets.", {
      cpu: text("For example 500m.", { minLength: 1, maxLength: 63 }),
      memory: text("For example 512Mi.", { minLength: 1, maxLength: 63 }),
    }),
    patches: list(
      "Changes of single fields, as JSON patch has them.",
      object("One change.", {
        op: required(choice("What to do.", ["add", "replace", "remove"])),
        path: required(
          text("Where, for example /spec/template/spec/priorityClassName; not in the metadata that says what it is.", {
            minLength: 1,
            maxLength: 1024,
            pattern: "^(/[^/]*)+$",
          }),
        ),
        value: anyValue("What to put there; nothing for remove."),
      }),
      { maxItems: 64 },
    ),
  },
);

const amount = (description: string) => text(description, { minLength: 1, maxLength: 63 });

const decision = object("What was decided about one cluster, and why.", {
  cluster: required(objectName("The name of the ClusterRegistration.")),
  selected: required(flag("Whether it was chosen.")),
  reason: required(text("The cause in one word, from a closed list.", { minLength: 1, maxLength: 63 })),
  rule: text("The part of the placement that decided.", { maxLength: 400 }),
  expected: text("What that part asks for.", { maxLength: 400 }),
  actual: text("What the cluster has.", { maxLength: 400 }),
  until: time(
    "Until when the cluster is kept although it no longer fits, or is left alone although the placement returns to it.",
  ),
  score: whole("How well it fits: the sum of its parts. The highest is best, the name decides between equals."),
  parts: list(
    "What the score is made of.",
    object("One part of the score.", {
      name: required(text("What it is for.", { maxLength: 400 })),
      value: required(whole("What it is worth.")),
    }),
  ),
  message: required(text("The cause in a sentence, for people.", { maxLength: 1024 })),
});

const failbackEntry = object("A cluster that the placement returns to.", {
  cluster: required(objectName("The name of the ClusterRegistration.")),
  reason: required(
    text("Why it was left, as the decision then said; Preferred where it was not left but is liked better.", {
      minLength: 1,
      maxLength: 63,
    }),
  ),
  since: required(time("When it was left, or first seen to be liked better.")),
  standIn: objectName("The cluster that is used in its place; left out while none is."),
  fittingSince: time("Since when it has been Ready and fitting without interruption; left out while it is not."),
});

const placedWorkload = object("One workload that was put on clusters.", {
  apiVersion: required(text("Its apiVersion.", { minLength: 1, maxLength: 317 })),
  kind: required(text("Its kind.", { minLength: 1, maxLength: 63 })),
  namespace: required(text("Its namespace.", { minLength: 1, maxLength: 63 })),
  name: required(objectName("Its name.")),
  state: required(choice("Ready when its record says so, otherwise the state of the copy that is worst.", copyStates)),
  clusters: set("The clusters that have it or may have it; the first of them.", objectName("A cluster."), {
    maxItems: 10,
  }),
  moreClusters: whole("How many more there are.", { minimum: 1 }),
  since: time("Since when it has been ready or not."),
});

const pastDecision = object("A decision that chose other clusters than the one before it.", {
  time: required(time("When it was made.")),
  reason: required(
    choice("Why: the first one, a change of the placement, or a change of what is known of the clusters.", [
      "FirstDecision",
      "PlacementChanged",
      "ClustersChanged",
    ]),
  ),
  clusters: required(whole("How many clusters are chosen since.", { minimum: 0 })),
  added: set("Clusters that were not chosen before; the first of them.", objectName("A cluster."), { maxItems: 10 }),
  removed: set("Clusters that are no longer chosen; the first of them.", objectName("A cluster."), { maxItems: 10 }),
  message: text("What was decided about them, for people.", { maxLength: 1024 }),
  generation: whole("The generation of the placement that it was made from."),
});

/** Where a workspace's work may run. */
export const workloadPlacement = defineKind({
  group,
  version,
  kind: "WorkloadPlacement",
  plural: "workloadplacements",
  shortNames: ["wp"],
  categories: ["kcp"],
  scope: "Cluster",
  description:
    "WorkloadPlacement says on which of the registered clusters work may run, and how it is shared out among them.",
  columns: [
    { name: "Strategy", type: "string", jsonPath: ".spec.strategy" },
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: object("What is wished for.", {
    strategy: choice(
      "How clusters are chosen among those that fit: RoundRobin deals placements out evenly, Spread takes all of them, Affinity takes the best one.",
      ["RoundRobin", "Spread", "Affinity"],
      { default: "RoundRobin" },
    ),
    locationSelector: labelSelector(
      "Which clusters come into question, by their labels and the derived keys location, region, zone, provider, environment; all of them when it is left out.",
    ),
    clusterNames: set(
      "The only clusters that come into question, by name; all of them when it is left out.",
      objectName("The name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    preferredClusters: set(
      "Clusters that are preferred where they fit, by name.",
      objectName("The name of a ClusterRegistration."),
      { maxItems: 1000 },
    ),
    numberOfClusters: whole(
      "How many clusters to choose at most; left out, RoundRobin and Affinity choose one, Spread all that fit.",
      { minimum: 1, maximum: 1000, format: "int32" },
    ),
    capabilityRequirements: listMap(
      "What a cluster must offer, one entry for each type.",
      "type",
      capabilityRequirement,
      { maxItems: 64 },
    ),
    tolerations: list("The taints of clusters that do not matter.", toleration, { maxItems: 64 }),
    affinity: object("Which clusters are asked for, preferred or avoided, by their labels and the derived keys.", {
      clusterAffinity: object("Clusters to be on.", {
        required: terms("A cluster must match one of these, if there are any."),
        preferred: weightedTerms("A cluster gains the weight of each that it matches."),
      }),
      clusterAntiAffinity: object("Clusters to stay away from.", {
        required: terms("A cluster must match none of these."),
        preferred: weightedTerms("A cluster loses the weight of each that it matches."),
      }),
    }),
    spreadConstraints: listMap(
      "How evenly clusters are chosen over the values of labels.",
      "topologyKey",
      spreadConstraint,
      { maxItems: 8 },
    ),
    failback: object(
      "Has the placement return to a cluster that it left because of the cluster's state, or to one that it clearly prefers by affinity, preferredClusters or hints. Left out, it stays where it is.",
      {
        afterSeconds: required(
          whole("How long that cluster must have been Ready and fitting without interruption.", { minimum: 1 }),
        ),
      },
    ),
    resources: object("What the work needs on each cluster; a cluster whose size is not known may have it.", {
      cpu: amount("For example 500m or 4."),
      memory: amount("For example 512Mi or 8Gi."),
    }),
    workloadSelector,
    replicas: replicaRule,
    overrides: list(
      "What is different on some clusters; each is applied to what those before it have made.",
      override,
      {
        maxItems: 64,
      },
    ),
    deletionPolicy: choice(
      "What becomes of a workload on a cluster that it leaves: Delete removes it there once it runs where it should, Orphan leaves it there and no longer looks after it.",
      ["Delete", "Orphan"],
      { default: "Delete" },
    ),
    drift: choice(
      "What is done when somebody changes on a cluster what the workload says: Revert puts it back, Report only says so, Pause also stops writing there until it is as it should be.",
      ["Revert", "Report", "Pause"],
      { default: "Revert" },
    ),
    adoption: choice(
      "What is done where a cluster has an object of the same name that is not TMC's: Never touches it, IfNoDiff takes it over when it already says the same, Always makes it say so.",
      ["Never", "IfNoDiff", "Always"],
      { default: "Never" },
    ),
    customResources: choice(
      "What is done where a cluster does not serve a custom type that is to go there: Require leaves the cluster out, or says so of the workload; Install gives the cluster the CustomResourceDefinition of the type, which stays there for good. A definition that somebody else has put there is never changed.",
      ["Require", "Install"],
      { default: "Require" },
    ),
    status: object("How what clusters say of a workload becomes one word.", {
      aggregation: choice(
        "How the statuses of a custom resource become one, unless its annotation tmc.kcp.io/status-strategy says so: Union has whatever any cluster says, Intersection what all of them say, Priority the word of the first of the placement's clusters that is heard from, Latest the word of the one of which something new was last heard. Left out, the type's definition may say so, and otherwise fields are kept that are alike everywhere.",
        ["Union", "Intersection", "Priority", "Latest"],
      ),
      health: choice(
        "On how many of its clusters a workload has to be ready to count as ready in its record: All, Any, or the Majority, which is more than half.",
        ["All", "Any", "Majority"],
        { default: "All" },
      ),
    }),
  }),
  status: object("What TMC has decided.", {
    conditions,
    strategy: text("The strategy that was followed.", { maxLength: 63 }),
    selectedClusters: set("The clusters that were chosen, by name.", objectName("The name of a ClusterRegistration."), {
      maxItems: 1000,
    }),
    decisions: listMap(
      "Every cluster with what was decided about it: those chosen first, then those that came nearest.",
      "cluster",
      decision,
      { maxItems: 100 },
    ),
    decisionsOmitted: object("The clusters that found no room in the list.", {
      count: required(whole("How many.", { minimum: 1 })),
      reasons: listMap(
        "How many for each reason.",
        "reason",
        object("One reason.", {
          reason: required(text("The reason.", { minLength: 1, maxLength: 63 })),
          count: required(whole("How many.", { minimum: 1 })),
        }),
      ),
    }),
    failback: listMap(
      "The clusters that the placement returns to, while spec.failback asks for that.",
      "cluster",
      failbackEntry,
      { maxItems: 1000 },
    ),
    evictedClusters: listMap(
      "The clusters that the placement last left by itself, because of their state or to return to others. Copies there may go however many they are.",
      "cluster",
      object("A cluster that was left.", {
        cluster: required(objectName("The name of the ClusterRegistration.")),
        reason: required(
          text("Why, as the decision then said; Returned where the placement went back to another.", {
            minLength: 1,
            maxLength: 63,
          }),
        ),
        at: required(time("When.")),
      }),
      { maxItems: 16 },
    ),
    placedWorkloads: list(
      "The workloads that were put on clusters: those that need somebody to look first. It is written some seconds after they change.",
      placedWorkload,
      { maxItems: 200 },
    ),
    placedWorkloadsOmitted: object("The workloads that found no room in the list.", {
      count: required(whole("How many.", { minimum: 1 })),
      states: listMap(
        "How many in each state.",
        "state",
        object("One state.", {
          state: required(choice("The state.", copyStates)),
          count: required(whole("How many.", { minimum: 1 })),
        }),
      ),
    }),
    placedWorkloadsTime: time("When that list was last written."),
    history: list("The last ten decisions that changed which clusters are chosen, the last first.", pastDecision, {
      maxItems: 10,
    }),
    notifiedHash: text("The fingerprint of what workloads have last been told of the decision.", { maxLength: 128 }),
    observedGeneration,
  }),
});

/** A placement, as the server stores it. */
export type WorkloadPlacement = KindOf<typeof workloadPlacement>;
