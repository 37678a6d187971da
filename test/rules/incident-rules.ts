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
  recordIsReadBeforeEviction,
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
  titles: ["upstream outage", "an upstream outage of %s deletes no copies, neither during the outage nor after it"],
  rows: [row],
});
const empty = (row: string): NamedTest => ({
  file: incidentTests,
  titles: ["incomplete lists", "a list at start that lacks %s deletes no copies"],
  rows: [row],
});
const failing = (row: string): NamedTest => ({
  file: incidentTests,
  titles: ["incomplete lists", "a failed list of %s at start deletes no copies"],
  rows: [row],
});

const onlyCopy = {
  incident: "the only copy is deleted when no cluster fits",
  seen: ["karmada#7455", "karmada#5150"],
} as const;
const massDelete = {
  incident: "everything is deleted after an outage of the hub or an agent",
  seen: ["kcp#2671", "kcp#2041", "karmada#5406"],
} as const;
const emptyList = {
  incident: "an empty or failed list is taken for deletion",
  seen: ["argo-cd#18480", "argo-cd#18780", "argo-cd#9227"],
} as const;
const staleStatus = {
  incident: "an old status of a cluster is shown as current",
  seen: ["kcp#1682", "kubestellar#1067"],
} as const;
const fights = {
  incident: "sync and an autoscaler or webhook of the cluster overwrite each other",
  seen: ["karmada#386", "karmada#4058", "karmada#3410"],
} as const;
const notDecidedAgain = {
  incident: "a placement is not decided again when a cluster's health or taints change",
  seen: ["kcp#2579", "karmada#1844"],
} as const;

const leaks = {
  incident: "namespaces are copied to every cluster, and tenants share them",
  seen: ["karmada#2512", "karmada#5032", "karmada#6827"],
} as const;

const tenants = titled(
  "tenants on one cluster",
  "workloads of two tenants with equal names are kept apart and run only on selected clusters",
);
const silent = titled(
  "unreachable clusters",
  "an unreachable cluster does not count in the status, and its entry has the time of the last observation",
);

/** What protects from the incidents that users of systems like this one have lost work by. */
export const incidentRules: readonly Rule[] = [
  {
    ...onlyCopy,
    rule: "a workload that no longer fits any cluster keeps its copies",
    removals: [lastCopyStays],
    test: titled("eviction", "an eviction keeps the only copy of a workload if no other cluster fits"),
  },
  {
    ...onlyCopy,
    rule: "a copy is evicted after its replacements are ready, by the cache and by a fresh read",
    removals: [readyElsewhereFirst, replacementsAreAsked],
    test: titled("eviction", "an eviction keeps a copy until the workload is ready on its new cluster"),
  },
  {
    incident: "changes are ignored after an outage of the hub",
    rule: "a list or a watch that failed is tried again soon, however long the outage lasts",
    removals: [
      {
        file: "packages/kube/src/informer/watch.ts",
        text: "if (retryInMs > 0) await delay(clock, retryInMs, attempt.signal);",
        without: "if (retryInMs > 0) await delay(clock, 86_400_000, attempt.signal);",
      },
    ],
    test: away("all resources"),
  },
  {
    ...massDelete,
    rule: "a placement that cannot be read is not treated as deleted",
    removals: [failureIsNoAbsence],
    test: away("only placements"),
  },
  {
    ...massDelete,
    rule: "a registration that cannot be read is not treated as deleted",
    removals: [failureIsNoAbsence],
    test: away("only registrations"),
  },
  {
    ...massDelete,
    rule: "a workload that cannot be read is not treated as deleted, and a missing one is not either",
    removals: [failureIsNoAbsence, vanishedIsNotDeleted],
    test: away("only workloads"),
  },
  {
    ...massDelete,
    rule: "a sync record that cannot be read is not treated as deleted, and nothing is written before the record",
    removals: [failureIsNoAbsence, recordComesFirst],
    test: away("only sync records"),
  },
  {
    ...massDelete,
    rule: "a workload whose deletion was not observed has vanished and keeps its copies until a user confirms",
    removals: [vanishedIsNotDeleted],
    test: titled(
      "upstream outage",
      "a workload that disappears upstream without an observed deletion keeps its copies",
    ),
  },
  {
    ...emptyList,
    rule: "a workload that is missing from a list is read from the server",
    removals: [workloadIsAskedFor],
    test: empty("deployments"),
  },
  {
    ...emptyList,
    rule: "a sync record that is missing from a list stops the reconcile when it would be created again",
    removals: [recordComesFirst, recordIsReadBeforeEviction],
    test: empty("sync records"),
  },
  {
    ...emptyList,
    rule: "a governing placement that is missing from a list is read from the server",
    removals: [recordedPlacementIsAskedFor],
    test: empty("placements"),
  },
  {
    ...emptyList,
    rule: "no other placement governs a workload while its placement is only missing from a list",
    removals: [recordedPlacementIsAskedFor],
    test: empty("one of the placements"),
  },
  {
    ...emptyList,
    rule: "selected clusters that are missing from an empty list are read from the server",
    removals: [chosenClustersAreAskedFor],
    test: empty("registrations"),
  },
  {
    ...emptyList,
    rule: "a selected cluster that is missing from a list of others is read from the server",
    removals: [chosenClustersAreAskedFor],
    test: empty("one of the registrations"),
  },
  {
    ...emptyList,
    rule: "a namespace that is missing from a list is read before its labels count as removed",
    removals: [namespaceIsAskedFor],
    test: empty("namespaces"),
  },
  {
    ...emptyList,
    rule: "dependencies are kept while the workload has the finalizer and its sync record is missing from a list",
    removals: [
      {
        file: "lib/sync/dependencies/prune.ts",
        text: "unneeded.filter((reference) => !unrecorded.has(referenceId(reference)))",
        without: "unneeded.filter((reference) => !unrecorded.has(referenceId(reference)) || true)",
      },
    ],
    test: titled("incomplete lists", "an empty list of sync records deletes no dependency that another workload uses"),
  },
  {
    ...emptyList,
    rule: "a workload that is missing from a stale list is read from the server",
    removals: [workloadIsAskedFor],
    test: titled("incomplete lists", "a stale list deletes no copies"),
  },
  {
    ...emptyList,
    rule: "before placements are listed no workload is reconciled, and the governing placement is read from the server",
    removals: [
      {
        file: "lib/relay/event-to-key/change-tracker.ts",
        text: "if (tenant.pending === undefined || tenant.listed.size < reconciledKinds.length) return;",
        without: "if (tenant.pending === undefined) return;",
      },
      { file: "lib/upstream/direct-hub.ts", text: "if (!cache.isListed(logicalCluster)) {", without: "if (false) {" },
      recordedPlacementIsAskedFor,
    ],
    test: failing("workloadplacements"),
  },
  {
    ...emptyList,
    rule: "before sync records are listed no workload is reconciled, each record is read from the server, and none is created again",
    removals: [
      allIsListedFirst,
      {
        file: "lib/upstream/cached-workload-hub.ts",
        text: "if (cache.isListed(logicalCluster, type) && !cache.isStale(address)) return cache.get(address);",
        without: "if (!cache.isStale(address)) return cache.get(address);",
      },
      recordComesFirst,
      recordIsReadBeforeEviction,
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
    rule: "before namespaces are listed no workload is reconciled, and each namespace is read from the server",
    removals: [allIsListedFirst, namespaceIsAskedFor],
    test: failing("namespaces"),
  },
  {
    ...emptyList,
    rule: "only a request to the cluster shows that a copy is absent, a list does not",
    removals: [
      {
        file: "lib/downstream/copy-reads.ts",
        text: `return known?.kind === "there" && isAddressOf(owner, address) ? known : readCopyUncached(address, owner, signal);`,
        without: "return known ?? readCopyUncached(address, owner, signal);",
      },
    ],
    test: titled("incomplete lists", "an empty list of downstream copies deletes no copies and forgets none"),
  },
  {
    incident: "a workload that is no longer selected is never deleted because every empty list is distrusted",
    seen: ["argo-cd#11939"],
    rule: "only a selected workload keeps its last copy",
    removals: [{ ...lastCopyStays, without: "if (!hasTargets) {" }],
    test: titled("incomplete lists", "the deletion of a placement deletes its copies"),
  },
  {
    incident: "a short outage moves all workloads",
    seen: ["liqo#1030", "liqo#1194"],
    rule: "a cluster that is not Ready is tolerated for five minutes",
    removals: [
      {
        file: "lib/placement/taints.ts",
        text: "export const defaultNotReadySeconds = 300;",
        without: "export const defaultNotReadySeconds = 0;",
      },
    ],
    test: titled("a short outage of a cluster moves no workloads"),
  },
  {
    incident: "watches are dead after a credential rotation, and health is green",
    seen: ["karmada#7562", "karmada#6388"],
    rule: "a watch whose credentials are rejected reads new credentials immediately",
    removals: [
      {
        file: "lib/downstream/copy-informer.ts",
        text: `if (faultOf(failure.error) === "unauthorized") onUnauthorized();`,
        without: "",
      },
    ],
    test: titled("a cluster is watched again after its credentials were rotated"),
  },
  {
    ...fights,
    rule: "an autoscaler owns the number of replicas",
    removals: [
      {
        file: "lib/sync/targets/apply-all.ts",
        text: "isAutoscaled: await isAutoscaled(workloads, observed, signal),",
        without: "isAutoscaled: false && (await isAutoscaled(workloads, observed, signal)),",
      },
    ],
    test: titled("downstream controllers", "replicas that a downstream autoscaler sets are not reverted"),
  },
  {
    ...fights,
    rule: "additional fields of a copy are not drift",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (differences.length === 0) return { action: "keep", isUpToDate: true };`,
        without: "",
      },
    ],
    test: titled("downstream controllers", "fields that a downstream controller adds to a copy are not reverted"),
  },
  {
    ...leaks,
    rule: "the downstream namespace contains the logical cluster",
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
    rule: "a workload is written to selected clusters only",
    removals: [
      {
        file: "lib/sync/decide.ts",
        text: "(placement?.status?.selectedClusters ?? []).filter(",
        without: "(placement?.status?.decisions ?? []).map(({ cluster }) => cluster).filter(",
      },
    ],
    test: tenants,
  },
  {
    incident: "an offline cluster blocks the others",
    seen: ["fleet#594", "rancher#42864", "argo-cd#21213"],
    rule: "a cluster that is not Ready is not read",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: `if (targetClusters.get(name)?.isReady !== true) {\n        return [name, { kind: "unknown", message: "the cluster is not ready" }];\n      }`,
        without: "",
      },
    ],
    test: titled("a cluster that hangs does not delay other clusters and receives only health probes"),
  },
  {
    ...staleStatus,
    rule: "the status of a cluster that is not Ready has the time of its last heartbeat",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (targetCluster === undefined || !targetCluster.isReady)\n    return { action: "keep", state: "Stale", blocker: notReady(targetCluster) };`,
        without: `if (targetCluster === undefined) return { action: "keep", state: "Stale", blocker: notReady(targetCluster) };`,
      },
    ],
    test: silent,
  },
  {
    ...staleStatus,
    rule: "a copy that was not read has no ready count",
    removals: [
      {
        file: "lib/sync/targets/apply.ts",
        text: "const { readyReplicas: _, reason: __, message: ___, ...kept } = previous;",
        without: "const { reason: __, message: ___, ...kept } = previous;",
      },
    ],
    test: silent,
  },
  {
    ...staleStatus,
    rule: "the last status of a cluster keeps its time",
    removals: [
      {
        file: "lib/sync/status/report.ts",
        text: `const isObserved = after.reason !== "ClusterNotReady";`,
        without: "const isObserved = true;",
      },
    ],
    test: silent,
  },
  {
    ...staleStatus,
    rule: "a cluster that has no copy any more is removed from the sync record",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (downstreamState.kind !== "there") return { action: "forget" };`,
        without: `if (downstreamState.kind !== "there") return { action: "keep", state: "Evicting", blocker: { reason: "Terminating", message: "" } };`,
      },
    ],
    test: titled("unreachable clusters", "a drained cluster is removed from the status of its workloads"),
  },
  {
    ...notDecidedAgain,
    rule: "a change of a registration enqueues the placements that it may affect",
    removals: [
      {
        file: "lib/engine/registration-world.ts",
        text: "(placement) => mayAffect(placement, knownChange)",
        without: "(placement) => placement.spec === undefined && mayAffect(placement, knownChange)",
      },
    ],
    test: titled("placement decisions", "a placement is decided again when a cluster gets a taint"),
  },
  {
    ...notDecidedAgain,
    rule: "a placement that tolerates a cluster is reconciled again when the toleration ends",
    removals: [
      {
        file: "lib/placement/decide.ts",
        text: `return verdict?.reason === "KeptTolerated" ? verdict.untilMs : undefined;`,
        without: `return verdict?.reason === "KeptTolerated" ? undefined : undefined;`,
      },
      everythingIsLookedAtAgain,
    ],
    test: titled(
      "placement decisions",
      "a placement is decided again when a cluster becomes unreachable and its toleration ends",
    ),
  },
];
