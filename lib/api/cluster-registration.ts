import { conditions, observedGeneration } from "./condition.ts";
import { group, version } from "./group.ts";
import { defineKind, type KindOf } from "./kind.ts";
import { capabilityType } from "./names.ts";
import { flag, listMap, object, required, text, time } from "./schema.ts";

const capability = object("One thing that the cluster can offer.", {
  type: required(capabilityType("What it is, for example compute, storage, networking or gpu.")),
  available: flag("Whether the cluster offers it.", { default: true }),
});

/** A physical Kubernetes cluster that a tenant lets its work run on. */
export const clusterRegistration = defineKind({
  group,
  version,
  kind: "ClusterRegistration",
  plural: "clusterregistrations",
  shortNames: ["cr"],
  categories: ["kcp"],
  scope: "Cluster",
  description:
    "ClusterRegistration makes a Kubernetes cluster known to the workspace, so that work can be placed on it.",
  columns: [
    { name: "Ready", type: "string", jsonPath: '.status.conditions[?(@.type=="Ready")].status' },
    { name: "Location", type: "string", jsonPath: ".spec.location" },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: object("The cluster as its owner describes it.", {
    location: required(
      text("Where the cluster is, for example us-west-2.", {
        minLength: 1,
        maxLength: 253,
        pattern: "^\\S(.*\\S)?$",
      }),
    ),
    capabilities: listMap("What the cluster offers, one entry for each type.", "type", capability, { maxItems: 64 }),
  }),
  status: object("What TMC has seen of the cluster.", {
    conditions,
    lastHeartbeat: time("When the cluster last answered."),
    observedGeneration,
  }),
});

/** A registered cluster, as the server stores it. */
export type ClusterRegistration = KindOf<typeof clusterRegistration>;
