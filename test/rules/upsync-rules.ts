import { tests, titled } from "./named-tests.ts";
import type { NamedTest, Rule } from "./rule.ts";

const upsyncDecision = (row: string): NamedTest => ({
  file: tests.upsyncDecision,
  titles: ["the upsync decision for a name", "%s"],
  rows: [row],
});
const missing = (title: string): NamedTest => ({
  file: tests.upsync,
  titles: ["upsync %s", "an object that is missing on its cluster", title],
  rows: ["with watches"],
});
const tooMany = "a typo or an incomplete list evicts very many copies at once";

/** Rules that protect upsynced objects and their originals. */
export const upsyncRules: readonly Rule[] = [
  {
    incident: tooMany,
    rule: "the deletion guard counts the copies that are deleted with an upsynced object",
    removals: [
      {
        file: "lib/upsync/inventory.ts",
        text: "objects.evicted > 1 && exceedsLimit(cascade, deletionGuard)",
        without: "objects.evicted < 0 && exceedsLimit(cascade, deletionGuard)",
      },
    ],
    test: missing("is not deleted upstream while many copies on other clusters would be deleted with it and others"),
  },
  {
    incident: "upsynced objects are deleted because a list is incomplete",
    rule: "mass deletions of upsynced objects are held until a user confirms them",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: "if (heldMessage === undefined) return { action",
        without: `if (heldMessage !== "") return { action`,
      },
    ],
    test: missing("is not deleted upstream with many others until a user confirms how many may be deleted"),
  },
  {
    incident: "an upsynced object is deleted because its cluster is unreachable",
    rule: "an upsynced object is not deleted because its cluster does not answer",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: `case "unknown":\n      return { action: none, blockers: [] };`,
        without: `case "unknown":\n      return decideDeletion(registration, heldMessage);`,
      },
    ],
    test: missing("is not deleted upstream because its cluster does not answer or is not Ready"),
  },
  {
    incident: "an upsynced object is deleted because its cluster opts out",
    rule: "an upsynced object is kept when its cluster opts out",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: "if (state.uid === origin.uid) return { action: none, blockers: [] };",
        without: "",
      },
    ],
    test: upsyncDecision("keeps the upstream object when the original exists and is only no longer opted in"),
  },
  {
    incident: "an object of a cluster overwrites an object of the workspace",
    rule: "upsync never overwrites an object that was created upstream",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: "if (candidate === undefined || origin === undefined) return { action: none, blockers: [] };",
        without: `if (candidate === undefined || origin === undefined) {\n    const [other] = candidates;\n    return { action: other ? { kind: "update", registration: other.registration } : none, blockers: [] };\n  }`,
      },
    ],
    test: upsyncDecision("never overwrites an object that was created upstream"),
  },
  {
    incident: "a copy overwrites its original",
    rule: "an upsynced object gets no copy on its origin, by decision",
    removals: [
      { file: "lib/sync/decide.ts", text: "name !== upsyncOriginCluster && allows(name)", without: "allows(name)" },
    ],
    test: titled("upsyncOrigin", "an upsynced workload", "an upsynced workload gets no copy on its origin cluster"),
  },
  {
    incident: "a copy overwrites its original",
    rule: "an upsynced object gets no copy on its origin, in a controller",
    removals: [
      { file: "lib/sync/decide.ts", text: "name !== upsyncOriginCluster && allows(name)", without: "allows(name)" },
    ],
    test: titled(
      "upsyncController",
      "a controller with upsync",
      "creates upstream what was created on a cluster, and places it on the others",
    ),
  },
];
