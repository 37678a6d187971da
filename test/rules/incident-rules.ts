import {
  allIsListedFirst,
  chosenClustersAreAskedFor,
  everythingIsLookedAtAgain,
  failureIsNoAbsence,
  lastCopyStays,
  namespaceIsAskedFor,
  readyElsewhereFirst,
  recordComesFirst,
  recordedPlacementIsAskedFor,
  replacementsAreAsked,
  vanishedIsNotDeleted,
  workloadIsAskedFor,
} from "./removals.ts";
import type { NamedTest, Rule } from "./rule.ts";

/** Where the incidents of others are played. Every test of it is named by a rule. */
export const incidentTests = "test/e2e/incidents.test.ts";

const titled = (...titles: readonly string[]): NamedTest => ({ file: incidentTests, titles });
const away = (row: string): NamedTest => ({
  file: incidentTests,
  titles: ["a hub that was away", "%s deletes nothing, then or when it is back"],
  rows: [row],
});
const empty = (row: string): NamedTest => ({
  file: incidentTests,
  titles: ["an empty list", "of %s at start deletes nothing"],
  rows: [row],
});
const failing = (row: string): NamedTest => ({
  file: incidentTests,
  titles: ["an empty list", "of %s that fails at start deletes nothing"],
  rows: [row],
});

const onlyCopy = {
  incident: "the only copy deleted when nothing else fits",
  seen: ["karmada#7455", "karmada#5150"],
} as const;
const massDelete = {
  incident: "everything deleted after the hub or an agent was away",
  seen: ["kcp#2671", "kcp#2041", "karmada#5406"],
} as const;
const emptyList = {
  incident: "an empty or failed list taken for everything being gone",
  seen: ["argo-cd#18480", "argo-cd#18780", "argo-cd#9227"],
} as const;
const staleStatus = {
  incident: "the last word of a cluster shown as what is so now",
  seen: ["kcp#1682", "kubestellar#1067"],
} as const;
const fights = {
  incident: "fights with an autoscaler or with webhooks of a cluster",
  seen: ["karmada#386", "karmada#4058", "karmada#3410"],
} as const;
const notDecidedAgain = {
  incident: "a placement not decided again when a cluster's health or taints change",
  seen: ["kcp#2579", "karmada#1844"],
} as const;

const leaks = {
  incident: "namespaces copied to every cluster, and tenants that meet in them",
  seen: ["karmada#2512", "karmada#5032", "karmada#6827"],
} as const;

const tenants = titled(
  "tenants with the same names on one cluster",
  "never meet there, and are on no cluster that was not chosen for them",
);
const silent = titled(
  "a cluster that is not heard from",
  "is in no sum, and its last word has the time at which it was heard",
);

/** What protects from the incidents that users of systems like this one have lost work by. */
export const incidentRules: readonly Rule[] = [
  {
    ...onlyCopy,
    rule: "a workload that fits nowhere any more keeps the copies that it has",
    removals: [lastCopyStays],
    test: titled("an eviction", "does not delete the only copy when nothing else fits"),
  },
  {
    ...onlyCopy,
    rule: "a copy goes after the others are ready, by what was seen and by what they say themselves",
    removals: [readyElsewhereFirst, replacementsAreAsked],
    test: titled("an eviction", "does not delete the copy that serves before the other one does"),
  },
  {
    ...massDelete,
    rule: "a hub that does not answer has not said that anything is gone",
    removals: [failureIsNoAbsence],
    test: away("for everything"),
  },
  {
    ...massDelete,
    rule: "a placement that cannot be read is not gone",
    removals: [failureIsNoAbsence],
    test: away("for placements"),
  },
  {
    ...massDelete,
    rule: "a registration that cannot be read is not gone",
    removals: [failureIsNoAbsence],
    test: away("for clusters"),
  },
  {
    ...massDelete,
    rule: "a workload that cannot be read is not gone, and one that is not there was not deleted by that",
    removals: [failureIsNoAbsence, vanishedIsNotDeleted],
    test: away("for workloads"),
  },
  {
    ...massDelete,
    rule: "a record that cannot be read is not gone, and nothing is done that cannot be written down",
    removals: [failureIsNoAbsence, recordComesFirst],
    test: away("for records"),
  },
  {
    ...massDelete,
    rule: "a workload whose deletion nobody saw has vanished, and keeps its copies until somebody confirms",
    removals: [vanishedIsNotDeleted],
    test: titled("a hub that was away", "deletes no copy of a workload that it has lost without anybody deleting it"),
  },
  {
    ...emptyList,
    rule: "a workload that no list has is asked for",
    removals: [workloadIsAskedFor],
    test: empty("deployments"),
  },
  {
    ...emptyList,
    rule: "a record that no list has stops the work on its workload as soon as it is to be made anew",
    removals: [recordComesFirst],
    test: empty("records"),
  },
  {
    ...emptyList,
    rule: "the placement that a workload is placed by is asked for where no list has it",
    removals: [recordedPlacementIsAskedFor],
    test: empty("placements"),
  },
  {
    ...emptyList,
    rule: "no other placement takes over while the one that a workload is placed by is only not seen",
    removals: [recordedPlacementIsAskedFor],
    test: empty("placements, but for one"),
  },
  {
    ...emptyList,
    rule: "clusters that run the work are asked for where no list has them",
    removals: [chosenClustersAreAskedFor],
    test: empty("clusters"),
  },
  {
    ...emptyList,
    rule: "a cluster that runs the work is asked for where the list has only others",
    removals: [chosenClustersAreAskedFor],
    test: empty("clusters, but for one"),
  },
  {
    ...emptyList,
    rule: "a namespace that no list has is asked for before its labels count as gone",
    removals: [namespaceIsAskedFor],
    test: empty("namespaces"),
  },
  {
    ...emptyList,
    rule: "what a workload refers to stays on clusters while the workload is guarded and no list has its record",
    removals: [
      {
        file: "lib/sync/dependencies/prune.ts",
        text: "unneeded.filter((reference) => !unseen.has(idOf(reference)))",
        without: "unneeded.filter((reference) => !unseen.has(idOf(reference)) || true)",
      },
    ],
    test: titled("an empty list", "of records takes nothing from those who share it"),
  },
  {
    ...emptyList,
    rule: "a workload that a lagging list does not have is asked for",
    removals: [workloadIsAskedFor],
    test: titled("an empty list", "from a server that lags behind deletes nothing"),
  },
  {
    ...emptyList,
    rule: "before placements are listed nothing is looked at, no list of them is given, and the one that counts is asked for",
    removals: [
      {
        file: "lib/relay/change-tracker.ts",
        text: "if (book.held === undefined || book.listed.size < reconciledKinds.length) return;",
        without: "if (book.held === undefined) return;",
      },
      { file: "lib/upstream/direct-hub.ts", text: "if (!cache.isListed(logicalCluster)) {", without: "if (false) {" },
      recordedPlacementIsAskedFor,
    ],
    test: failing("workloadplacements"),
  },
  {
    ...emptyList,
    rule: "before records are listed nothing is looked at, each is asked for, none is made anew, and no list of them is given",
    removals: [
      allIsListedFirst,
      {
        file: "lib/upstream/cached-workload-hub.ts",
        text: "if (cache.isListed(logicalCluster, type) && !cache.isDoubted(address)) return cache.get(address);",
        without: "if (!cache.isDoubted(address)) return cache.get(address);",
      },
      recordComesFirst,
      {
        file: "lib/upstream/cached-workload-hub.ts",
        text: "if (cache.isListed(logicalCluster, type)) return cache.list(type, logicalCluster);",
        without: "if (cache.types.length > 0) return cache.list(type, logicalCluster);",
      },
    ],
    test: failing("workloadsyncs"),
  },
  {
    ...emptyList,
    rule: "before namespaces are listed nothing is looked at, and each is asked for",
    removals: [allIsListedFirst, namespaceIsAskedFor],
    test: failing("namespaces"),
  },
  {
    ...emptyList,
    rule: "that a copy is not there is for the cluster itself to say, not for a list of it",
    removals: [
      {
        file: "lib/downstream/client.ts",
        text: `return known?.kind === "there" && isPlaceOf(address, origin) ? known : readCopyUncached(address, origin, signal);`,
        without: "return known ?? readCopyUncached(address, origin, signal);",
      },
    ],
    test: titled("an empty list", "of a cluster's copies deletes nothing, and nothing is forgotten for it"),
  },
  {
    incident: "work that nobody wants any more, never deleted because everything empty is distrusted",
    seen: ["argo-cd#11939"],
    rule: "only what is wanted is kept for want of another place",
    removals: [{ ...lastCopyStays, without: "if (!hasTargets) {" }],
    test: titled("an empty list", "that is true does delete: a placement that is gone keeps nothing"),
  },
  {
    incident: "all work moved away by a glitch",
    seen: ["liqo#1030", "liqo#1194"],
    rule: "a cluster that is not Ready is borne for five minutes",
    removals: [
      {
        file: "lib/placement/taints.ts",
        text: "export const defaultNotReadySeconds = 300;",
        without: "export const defaultNotReadySeconds = 0;",
      },
    ],
    test: titled("a cluster that is away for a moment has nothing moved away from it"),
  },
  {
    incident: "watches dead after credentials were renewed, and health green",
    seen: ["karmada#7562", "karmada#6388"],
    rule: "a watch whose credentials are refused has others found at once",
    removals: [
      {
        file: "lib/downstream/copy-informer.ts",
        text: `if (error.fault === "unauthorized") onRefused();`,
        without: "",
      },
    ],
    test: titled("credentials that are renewed do not leave a cluster unwatched while its health is green"),
  },
  {
    ...fights,
    rule: "the number of replicas is the autoscaler's where there is one",
    removals: [
      {
        file: "lib/sync/targets/apply-all.ts",
        text: "isAutoscaled: await isAutoscaled(workloads, scene, signal),",
        without: "isAutoscaled: false && (await isAutoscaled(workloads, scene, signal)),",
      },
    ],
    test: titled("a controller of the cluster", "that scales a copy is not fought with"),
  },
  {
    ...fights,
    rule: "a copy that says all that it should say, and more, is as it should be",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (differences.length === 0) return { do: "keep", isAsWished: true };`,
        without: "",
      },
    ],
    test: titled("a controller of the cluster", "that adds what it needs to a copy is not fought with"),
  },
  {
    ...leaks,
    rule: "the namespace on a cluster is named for the logical cluster too",
    removals: [
      {
        file: "lib/sync/ownership/namespace-map.ts",
        text: "JSON.stringify([hub, logicalCluster, namespace])",
        without: "JSON.stringify([hub, logicalCluster.slice(0, 0), namespace])",
      },
    ],
    test: tenants,
  },
  {
    ...leaks,
    rule: "work goes to the clusters that were chosen, not to all that were considered",
    removals: [
      {
        file: "lib/sync/decide.ts",
        text: "(placement?.status?.selectedClusters ?? []).filter(isTarget)",
        without: "(placement?.status?.decisions ?? []).map(({ cluster }) => cluster).filter(isTarget)",
      },
    ],
    test: tenants,
  },
  {
    incident: "offline clusters that poison the rest",
    seen: ["fleet#594", "rancher#42864", "argo-cd#21213"],
    rule: "a cluster that is not Ready is not looked at",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: `if (clusters.get(name)?.isReady !== true) return [name, { kind: "unknown", why: "the cluster is not ready" }];`,
        without: "",
      },
    ],
    test: titled("a cluster that hangs holds up no other, and is asked no more often than its probes"),
  },
  {
    ...staleStatus,
    rule: "of a cluster that is not Ready is said when it was last heard from",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (targetCluster === undefined || !targetCluster.isReady)\n    return { do: "keep", state: "Stale", obstacle: unheard(targetCluster) };`,
        without: `if (targetCluster === undefined) return { do: "keep", state: "Stale", obstacle: unheard(targetCluster) };`,
      },
    ],
    test: silent,
  },
  {
    ...staleStatus,
    rule: "what was not looked at keeps no count of what was ready",
    removals: [
      {
        file: "lib/sync/targets/apply.ts",
        text: "const { readyReplicas: _, reason: __, message: ___, ...kept } = before;",
        without: "const { reason: __, message: ___, ...kept } = before;",
      },
    ],
    test: silent,
  },
  {
    ...staleStatus,
    rule: "what a cluster last told keeps the time at which it did",
    removals: [
      {
        file: "lib/sync/status/report.ts",
        text: `const isHeard = fresh.reason !== "ClusterNotReady";`,
        without: "const isHeard = true;",
      },
    ],
    test: silent,
  },
  {
    ...staleStatus,
    rule: "a cluster that says that it has no copy is spoken of no more",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (downstreamState.kind !== "there") return { do: "forget" };`,
        without: `if (downstreamState.kind !== "there") return { do: "keep", state: "Evicting", obstacle: { reason: "Terminating", message: "" } };`,
      },
    ],
    test: titled("a cluster that is not heard from", "and was drained is not shown as running the work any more"),
  },
  {
    ...notDecidedAgain,
    rule: "placements are told of a change of a cluster that may concern them",
    removals: [
      {
        file: "lib/engine/registration-world.ts",
        text: "(placement) => mayConcern(placement, named)",
        without: "(placement) => placement.spec === undefined && mayConcern(placement, named)",
      },
    ],
    test: titled("a placement that nobody touches", "is decided again when a cluster gets a taint"),
  },
  {
    ...notDecidedAgain,
    rule: "a placement that bears a cluster for a while looks again when the time is over, and in any case",
    removals: [
      {
        file: "lib/placement/decide.ts",
        text: `return verdict?.reason === "KeptTolerated" ? verdict.untilMs : undefined;`,
        without: `return verdict?.reason === "KeptTolerated" ? undefined : undefined;`,
      },
      everythingIsLookedAtAgain,
    ],
    test: titled("a placement that nobody touches", "is decided again when a cluster dies, and when its time is over"),
  },
];
