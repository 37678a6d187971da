import { tests, titled } from "./named-tests.ts";
import { guardCounts, holdsAreAsked, readyElsewhereFirst, recordComesFirst, replacementsAreAsked } from "./removals.ts";
import type { NamedTest, Rule } from "./rule.ts";

const eviction = (row: string): NamedTest => ({
  file: tests.copies,
  titles: ["decideEviction", "%s"],
  rows: [row],
});
const jobCluster = (row: string): NamedTest => ({
  file: "test/lib/sync/job-clusters.test.ts",
  titles: ["the cluster of a Job", "%s"],
  rows: [row],
});
const finalizerWrite = {
  file: "lib/sync/ownership/protect.ts",
  text: "needsFinalizer ? workloads.writeFinalizers(key, workload, [...finalizers, syncFinalizer], signal) : workload,",
  without: "needsFinalizer ? workload : workload,",
} as const;
const tooMany = "a typo or an incomplete list evicts very many copies at once";

/** Rules that protect copies and workloads from wrong deletions. */
export const deletionRules: readonly Rule[] = [
  {
    incident: "TMC loses its network, and all workloads are moved to the few clusters that still respond",
    rule: "evictions are held when most clusters stop responding at about the same time",
    removals: [
      {
        file: "lib/placement/retention.ts",
        text: "const isInMassFailure = isPartOfMassFailure(cluster, massFailures);",
        without: "const isInMassFailure = massFailures.length < 0 && isPartOfMassFailure(cluster, massFailures);",
      },
    ],
    test: {
      file: "test/lib/placement/mass-failure.test.ts",
      titles: ["decidePlacement in a mass failure", "keeps the clusters whose tolerated time is over, and says why"],
    },
  },
  {
    incident: "so many workloads are placed on one cluster that it cannot run them",
    rule: "a placement selects no cluster on which the others have reserved what it requests",
    removals: [
      {
        file: "lib/placement/decide.ts",
        text: "isCapacityRelevant && capacity.fails(spec, cluster) ? capacity : undefined",
        without: "isCapacityRelevant && capacity.fails(spec, cluster) ? undefined : undefined",
      },
    ],
    test: {
      file: "test/lib/placement/capacity.test.ts",
      titles: ["capacity of clusters", "a hundred placements of 20 CPU do not all fit a cluster of 24"],
    },
  },
  {
    incident: tooMany,
    rule: "the deletion guard holds mass evictions",
    removals: [guardCounts],
    test: titled("moves", "many workloads at once", "are held when the placement is lost, until a user confirms"),
  },
  {
    incident: tooMany,
    rule: "the deletion guard counts evictions by the current placements, before the first deletion",
    removals: [guardCounts],
    test: {
      file: tests.deletionGuard,
      titles: ["a typo in a placement", "no copy is deleted if many workloads lose their placement by %s"],
      rows: ["a selector with wrong labels"],
    },
  },
  {
    incident: tooMany,
    rule: "a held copy is deleted only after a confirmation",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: "if (holdMessage !== undefined && !isConfirmed)",
        without: "if (holdMessage === null)",
      },
    ],
    test: titled(
      "deletionGuard",
      "the deletion guard in reconciles",
      "many deletions at once are held until a user confirms them",
    ),
  },
  {
    incident: tooMany,
    rule: "held deletions stay held, however few remain",
    removals: [
      {
        file: "lib/sync/eviction/evict.ts",
        text: "return isHeldByGuard(previous) ? previous.message : deletionGuard(name, recordedPlacement);",
        without: "return deletionGuard(name, recordedPlacement);",
      },
      holdsAreAsked,
    ],
    test: titled(
      "deletionGuard",
      "the deletion guard in reconciles",
      "unconfirmed deletions stay held, however few remain",
    ),
  },
  {
    incident: tooMany,
    rule: "a held deletion stays held while its cluster is not Ready, and when it is back",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (!isHeld) return { action: "keep", state: "Evicting", blocker };`,
        without: `if (!isHeld || facts.holdMessage !== "") return { action: "keep", state: "Evicting", blocker };`,
      },
    ],
    test: titled(
      "deletionGuard",
      "the deletion guard in reconciles",
      "a deletion stays held when its cluster was not Ready meanwhile, however few remain",
    ),
  },
  {
    incident: tooMany,
    rule: "before an eviction, the sync record is read from the server: another controller may hold the copy",
    removals: [holdsAreAsked],
    test: titled(
      "deletionGuard",
      "the deletion guard in reconciles",
      "a deletion stays held that another controller holds while this one has decided to delete",
    ),
  },
  {
    incident: tooMany,
    rule: "a confirmation applies only to the held deletion that it names",
    removals: [
      {
        file: "lib/sync/eviction/evict.ts",
        text: `const isConfirmed = confirmedHolds.has(holdId(record, name) ?? "");`,
        without: `const isConfirmed = confirmedHolds.size > 0 && holdId(record, name) !== "";`,
      },
    ],
    test: titled(
      "deletionGuard",
      "the deletion guard in reconciles",
      "a confirmation without the id of the held deletion is ignored",
    ),
  },
  {
    incident: "the only ready copy is deleted because a watch is behind",
    rule: "before an eviction, the replacement copies are read from their clusters",
    removals: [replacementsAreAsked],
    test: titled(
      "syncMoves",
      "moves between clusters",
      "the old copy is kept if the new one fails between read and deletion",
    ),
  },
  {
    incident: "the only ready copy is deleted before its replacement is ready",
    rule: "a copy is evicted after its replacement is ready",
    removals: [readyElsewhereFirst],
    test: eviction("keeps a copy until its replacement is ready"),
  },
  {
    incident: "a copy is orphaned because its workload was deleted first",
    rule: "before the finalizer is removed, the clusters are read once more",
    removals: [
      {
        file: "lib/sync/ownership/finalize.ts",
        text: "const reappeared = isFinished ? await findReappearedCopies(tools, pruned, signal) : [];",
        without:
          "const reappeared = isFinished && !isFinished ? await findReappearedCopies(tools, pruned, signal) : [];",
      },
    ],
    test: titled(
      "syncMoves",
      "moves between clusters",
      "a deletion does not finish if another controller applied the copy again",
    ),
  },
  {
    incident: "a copy is orphaned because its workload was deleted first",
    rule: "the finalizer is written before the first copy",
    removals: [finalizerWrite],
    test: titled("sync", "a placed workload", "a copy is not written before finalizer and sync record exist"),
  },
  {
    incident: "a copy is orphaned because its workload was deleted first",
    rule: "a deleted workload waits for its copies",
    removals: [finalizerWrite],
    test: titled(
      "sync",
      "a deleted workload",
      "a deletion waits for a cluster that is not Ready until the deletion timeout",
    ),
  },
  {
    incident: "a copy is orphaned because no sync record names it",
    rule: "the sync record names a cluster before the first write to it",
    removals: [recordComesFirst],
    test: titled("sync", "a placed workload", "a copy is not written before finalizer and sync record exist"),
  },
  {
    incident: "a copy is orphaned because no sync record names it",
    rule: "if the sync record was lost, copies are read from every cluster",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: "record === undefined && hasFinalizer ? await findCopies(tools, base, signal) : []",
        without: "record === undefined && !hasFinalizer ? await findCopies(tools, base, signal) : []",
      },
    ],
    test: titled("sync", "unknown state", "copies are looked up on every cluster if the sync record was lost"),
  },
  {
    incident: "an error page of a proxy is taken for an answer of the cluster",
    rule: "a 404 that does not name the object is not proof of absence while its type is served",
    removals: [
      {
        file: "lib/downstream/copy-reads.ts",
        text: "if (!(await isServed(client, address.type, signal))) return undefined;",
        without: 'if (faultOf(error) === "not-found") return undefined;',
      },
    ],
    test: titled(
      "downstream",
      "the downstream client",
      "does not report a copy as absent when a proxy in front of the cluster answers 404",
    ),
  },
  {
    incident: "data is deleted with the last workload that used it",
    rule: "a PersistentVolumeClaim is not deleted with the last workload that references it",
    removals: [
      {
        file: "lib/sync/dependencies/distribute.ts",
        text: `if (downstreamState.kind !== "there" || kind === "PersistentVolumeClaim") continue;`,
        without: `if (downstreamState.kind !== "there") continue;`,
      },
    ],
    test: titled(
      "references",
      "dependencies of a placed workload",
      "a PersistentVolumeClaim that was distributed as a dependency is not deleted, because it holds data",
    ),
  },
  {
    incident: "a Secret is deleted that other workloads need",
    rule: "a dependency is kept while another sync record on the cluster references it",
    removals: [{ file: "lib/sync/dependencies/prune.ts", text: "!needed.has(referenceId(reference)) &&", without: "" }],
    test: titled(
      "references",
      "dependencies of a placed workload",
      "a shared dependency is deleted with the last workload that needs it",
    ),
  },
  {
    incident: "a copy is deleted on a cluster that could not be read",
    rule: "a copy that cannot be read is kept and stays in the sync record",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `return keepUnread({ reason: "ClusterNotReady", message: downstreamState.message }, facts);`,
        without: `return { action: "forget" };`,
      },
    ],
    test: eviction("does not treat a copy that could not be read as gone"),
  },
  {
    incident: "a copy is deleted on a cluster that could not be read",
    rule: "nothing is deleted on a cluster that is not Ready",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (!targetCluster.isReady) return keepUnread(notReady(targetCluster), facts);`,
        without: "",
      },
    ],
    test: eviction("does not evict a copy on a cluster that is not Ready"),
  },
  {
    incident: "a copy is deleted although its owner paused sync",
    rule: "while sync is paused nothing is evicted, unless the workload is deleted",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (syncBlocker !== undefined && intent !== "deleted") {`,
        without: `if (syncBlocker !== undefined && intent !== "deleted" && isConfirmed) {`,
      },
    ],
    test: eviction("does not evict a copy while its owner pauses sync"),
  },
  {
    incident: "a second placement moves the workload of the first",
    rule: "the governing placement stays the same while it selects the workload",
    removals: [
      {
        file: "lib/sync/selection.ts",
        text: ".toSorted((one, other) => (isRecorded(one) ? -1 : isRecorded(other) ? 1 : byPrecedence(one, other)));",
        without: ".toSorted((one, other) => byPrecedence(one, other));",
      },
    ],
    test: titled("controls", "the owner of a placement", "moves nothing by a second placement for the same work"),
  },
  {
    incident: "a migration runs on two clusters",
    rule: "a Job runs on one of the selected clusters",
    removals: [
      {
        file: "lib/sync/decide.ts",
        text: "const selected = limitJob(allowed, { ...facts, placement });",
        without: "const selected = allowed;",
      },
    ],
    test: jobCluster("a new Job goes to the cluster with the highest score"),
  },
  {
    incident: "the copy of a running migration is deleted, because one cluster is enough",
    rule: "a Job stays on every cluster where it was written",
    removals: [{ file: "lib/sync/decide.ts", text: "if (written.length > 0) return written;", without: "" }],
    test: jobCluster("a Job that was written to several clusters stays on all of them"),
    simulation: "not visible: its laws decide with the same function",
  },
  {
    incident: "a finished migration runs again and again, because its cluster deletes it after a while",
    rule: "a cluster is not told to delete a finished Job",
    removals: [
      {
        file: "lib/sync/desired/server-fields.ts",
        text: `changedAt(job.body, ["spec", "ttlSecondsAfterFinished"], () => undefined)`,
        without: "job.body",
      },
    ],
    test: {
      file: "test/lib/sync/desired/manifest.test.ts",
      titles: ["manifests of all published types", "the manifest of a Job has no time to live"],
    },
    simulation: "not visible: no Job in it has a time to live",
  },
];
