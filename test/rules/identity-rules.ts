import { tests, titled } from "./named-tests.ts";
import type { NamedTest, Rule } from "./rule.ts";

const missing = (title: string): NamedTest => ({
  file: tests.upsync,
  titles: ["upsync %s", "an object that is missing on its cluster", title],
  rows: ["with watches"],
});
const otherCluster =
  "a kubeconfig leads to another cluster, or a cluster is rebuilt, and what it lacks is deleted everywhere";
const twoHubs = "two control planes on one cluster overwrite and delete each other's copies";
const sameCluster = "two plain hubs that register the same cluster under the same name";

/** Rules that tell clusters and hubs apart. */
export const identityRules: readonly Rule[] = [
  {
    incident: otherCluster,
    rule: "the identity of a cluster is compared with every probe",
    removals: [
      {
        file: "lib/registration/identity.ts",
        text: "if (clusterUID === undefined || uid === clusterUID || uid === accepted) return { outcome, clusterUID: uid };",
        without: "if (uid !== accepted || uid === accepted) return { outcome, clusterUID: uid };",
      },
    ],
    test: {
      file: tests.identityDecision,
      titles: ["the identity of a registered cluster", "%s"],
      rows: ["makes the cluster not Ready at once when another one answers"],
    },
  },
  {
    incident: otherCluster,
    rule: "a client is used only after its cluster has shown the registered identity",
    removals: [
      {
        file: "lib/downstream/cluster-clients.ts",
        text: "      await identity.confirm(known, { key, registration }, signal);\n",
        without: "",
      },
    ],
    test: titled(
      "identity",
      "a workload that is deleted while another cluster answers keeps its record until the registered cluster answers again",
    ),
  },
  {
    incident: otherCluster,
    rule: "all upsynced objects of a cluster are never deleted at once without an observed deletion or a confirmation",
    removals: [
      {
        file: "lib/upsync/inventory.ts",
        text: "    isAllMissing || exceedsGuard(",
        without: "    (isAllMissing && false) || exceedsGuard(",
      },
    ],
    test: missing(
      "is not deleted upstream while all objects of its cluster are missing without a reported deletion, until a user confirms",
    ),
  },
  {
    incident: twoHubs,
    rule: "the id of a hub is its own",
    simulation: "not visible: a run gives every controller its hub id",
    removals: [
      { file: "lib/upstream/hub-identity.ts", text: "shortHash(source).slice(0, idLength)", without: "legacyHubId" },
    ],
    // On two hubs with one id the copies change without end, so that a test of the whole never comes to its expectation.
    test: titled(
      "identities",
      "decideHubIdentity",
      "a new id is derived from the uid of the root workspace, or else of the hub, and is a valid id",
    ),
  },
  {
    incident: twoHubs,
    rule: "a restored copy of a hub does not start",
    simulation: "not visible: a run gives every controller its hub id",
    removals: [
      {
        file: "lib/upstream/hub-identity.ts",
        text: "if (server === undefined || record.servers.includes(server)) return",
        without: "if (server === undefined || record.servers.length > 0) return",
      },
    ],
    test: titled("hubs", sameCluster, "a restored copy of a hub refuses to start, and changes nothing on the cluster"),
  },
  {
    incident: "an upgrade creates all copies again and leaves the old ones",
    rule: "a hub keeps the id that its sync records name",
    simulation: "not visible: a run gives every controller its hub id",
    removals: [{ file: "lib/upstream/hub-identity.ts", text: "const id = ids[0] ?? (", without: "const id = (" }],
    test: titled(
      "hubs",
      "a hub with copies of an earlier version",
      "keeps the id of its copies: none is deleted or created again",
    ),
  },
];
