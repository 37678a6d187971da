import type { NamedTest, Rule } from "./rule.ts";

const incident = "a workload is moved away from its data";
const workload = (title: string): NamedTest => ({
  file: "test/lib/sync/reconcile-volumes.test.ts",
  titles: ["a workload that uses a PersistentVolumeClaim", title],
});
const eviction = (row: string): NamedTest => ({
  file: "test/lib/sync/targets/decide.test.ts",
  titles: ["decideEviction", "%s"],
  rows: [row],
});
const noEmptyCopy = workload(
  "stays where its data is if the placement selects another cluster, and starts no empty copy there",
);

const overfull = "a cluster gets more work than it has room for";

/** Rules about the room on clusters. */
export const capacityRules: readonly Rule[] = [
  {
    incident: overfull,
    rule: "pods that TMC did not place take room",
    removals: [
      {
        file: "lib/placement/capacity.ts",
        text: " - (otherPods?.[resource] ?? 0n);",
        without: ";",
      },
    ],
    test: {
      file: "test/lib/placement/capacity.test.ts",
      titles: ["pods that TMC did not place", "take room from new placements, next to what placements reserve"],
    },
  },
  {
    incident: overfull,
    rule: "pods in namespaces of TMC are not counted twice",
    removals: [
      {
        file: "lib/registration/probe.ts",
        text: `if (!isOwnNamespace(String(pod.metadata.namespace ?? ""))) {`,
        without: "if (isOwnNamespace !== undefined) {",
      },
    ],
    test: {
      file: "test/lib/registration/probe.test.ts",
      titles: [
        "detection of the requests of other pods",
        "counts running pods page by page, without those in namespaces of TMC",
      ],
    },
  },
];

/** Rules about workloads that use PersistentVolumeClaims. */
export const volumeRules: readonly Rule[] = [
  {
    incident,
    rule: "a workload with volumes stays on the clusters that have its data",
    removals: [
      {
        file: "lib/sync/decide.ts",
        text: "volumeClusters.filter((name) => !selected.includes(name)).toSorted()",
        without: "[]",
      },
    ],
    test: noEmptyCopy,
  },
  {
    incident,
    rule: "a move that is held starts no copy with empty volumes",
    removals: [
      {
        file: "lib/sync/decide.ts",
        text: "...selected.filter((name) => volumeClusters.includes(name))",
        without: "...selected",
      },
    ],
    test: noEmptyCopy,
  },
  {
    incident,
    rule: "a copy with volumes is not evicted by a move",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (intent === "placed" && facts.volumeMessage !== undefined) {`,
        without: "if (false) {",
      },
    ],
    test: eviction("keeps a copy whose volumes must not be left behind"),
  },
  {
    incident: "data is deleted with a claim that moves",
    rule: "a PersistentVolumeClaim that moves is left behind with its data",
    removals: [{ file: "lib/sync/targets/decide.ts", text: `(isClaim && intent === "placed")`, without: "false" }],
    test: eviction("leaves a claim that moves with its data"),
  },
];
