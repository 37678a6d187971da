import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { capabilityType, objectName } from "./names.ts";
import { choice, flag, list, listMap, object, required, set, text, textMap, time, whole } from "./schema.ts";

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

const amount = (description: string) => text(description, { minLength: 1, maxLength: 63 });

const decision = object("What was decided about one cluster, and why.", {
  cluster: required(objectName("The name of the ClusterRegistration.")),
  selected: required(flag("Whether it was chosen.")),
  reason: required(text("The cause in one word, from a closed list.", { minLength: 1, maxLength: 63 })),
  rule: text("The part of the placement that decided.", { maxLength: 400 }),
  expected: text("What that part asks for.", { maxLength: 400 }),
  actual: text("What the cluster has.", { maxLength: 400 }),
  until: time("Until when the cluster is kept although it no longer fits."),
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
    resources: object("What the work needs on each cluster; a cluster whose size is not known may have it.", {
      cpu: amount("For example 500m or 4."),
      memory: amount("For example 512Mi or 8Gi."),
    }),
    workloadSelector: object("Which work this is about.", {
      workloadTypes: list(
        "Types that a cluster must serve; a cluster whose types are not known may serve them.",
        workloadType,
        { maxItems: 64 },
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
    observedGeneration,
  }),
});

/** A placement, as the server stores it. */
export type WorkloadPlacement = KindOf<typeof workloadPlacement>;
