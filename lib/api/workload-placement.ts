import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { capabilityType, objectName } from "./names.ts";
import { choice, flag, list, listMap, object, required, set, text, textMap } from "./schema.ts";

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
  required: flag("Whether a cluster without it is out of the question.", { default: true }),
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
    strategy: required(
      choice(
        "How clusters are chosen among those that fit: RoundRobin deals placements out evenly, Spread takes all of them, Affinity takes the best one.",
        ["RoundRobin", "Spread", "Affinity"],
      ),
    ),
    locationSelector: labelSelector(
      "Which clusters come into question, by their labels; all of them when it is left out.",
    ),
    capabilityRequirements: listMap(
      "What a cluster must offer, one entry for each type.",
      "type",
      capabilityRequirement,
      { maxItems: 64 },
    ),
  }),
  status: object("What TMC has decided.", {
    conditions,
    selectedClusters: set("The clusters that were chosen, by name.", objectName("The name of a ClusterRegistration."), {
      maxItems: 1000,
    }),
    observedGeneration,
  }),
});

/** A placement, as the server stores it. */
export type WorkloadPlacement = KindOf<typeof workloadPlacement>;
