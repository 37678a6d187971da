import {
  guardCounts,
  namespaceIsEmpty,
  readyElsewhereFirst,
  recordComesFirst,
  replacementsAreAsked,
} from "./removals.ts";
import type { NamedTest, Rule } from "./rule.ts";

const tests = {
  sync: "test/lib/sync/reconcile.test.ts",
  deletionGuard: "test/lib/sync/reconcile-deletion-guard.test.ts",
  syncMoves: "test/lib/sync/reconcile-moves.test.ts",
  references: "test/lib/sync/reconcile-references.test.ts",
  copies: "test/lib/sync/targets/decide.test.ts",
  upsyncOrigin: "test/lib/sync/status/upsync-origin-status.test.ts",
  moves: "test/lib/controller/moves.test.ts",
  ownership: "test/lib/controller/ownership.test.ts",
  hubs: "test/lib/controller/two-hubs.test.ts",
  identities: "test/lib/upstream/hub-identity.test.ts",
  controls: "test/lib/controller/user-controls.test.ts",
  upsyncController: "test/lib/controller/upsync.test.ts",
  downstream: "test/lib/downstream/client.faults.test.ts",
  upsync: "test/lib/upsync/reconcile.test.ts",
  upsyncDecision: "test/lib/upsync/decide.test.ts",
  identity: "test/lib/controller/cluster-identity.test.ts",
  identityDecision: "test/lib/registration/identity.test.ts",
} as const;

const titled = (file: keyof typeof tests, ...titles: readonly string[]): NamedTest => ({ file: tests[file], titles });
const eviction = (row: string): NamedTest => ({
  file: tests.copies,
  titles: ["decideEviction", "%s"],
  rows: [row],
});
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

const finalizerWrite = {
  file: "lib/sync/ownership/protect.ts",
  text: "needsFinalizer ? workloads.writeFinalizers(key, workload, [...finalizers, syncFinalizer], signal) : workload,",
  without: "needsFinalizer ? workload : workload,",
} as const;

const tooMany = "a typo or an incomplete list evicts very many copies at once";
const foreign = "a foreign object is overwritten or deleted";
const namespaces = "a namespace is deleted with objects in it";
const otherCluster =
  "a kubeconfig leads to another cluster, or a cluster is rebuilt, and what it lacks is deleted everywhere";
const twoHubs = "two control planes on one cluster overwrite and delete each other's copies";
const sameCluster = "two plain hubs that register the same cluster under the same name";

/** Rules that protect objects from wrong deletions. */
export const deletionRules: readonly Rule[] = [
  {
    incident: "TMC loses its network, and all workloads are moved to the few clusters that still respond",
    rule: "evictions are held when most clusters stop responding at about the same time",
    removals: [
      {
        file: "lib/placement/retention.ts",
        text: "isPartOfMassFailure(cluster, massFailures) &&",
        without: "massFailures.length < 0 && isPartOfMassFailure(cluster, massFailures) &&",
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
    test: titled("moves", "many workloads at once", "are held when the placement is lost, until somebody confirms"),
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
        text: `return previous?.state === "Held" && previous.reason === "DeletionsHeld" ? previous.message : deletionGuard(name);`,
        without: `return previous?.state === "Held" ? deletionGuard(name) : deletionGuard(name);`,
      },
    ],
    test: titled(
      "deletionGuard",
      "the deletion guard in reconciles",
      "unconfirmed deletions stay held, however few remain",
    ),
  },
  {
    incident: tooMany,
    rule: "a confirmation applies only to the held deletion that it names",
    removals: [
      {
        file: "lib/sync/eviction/evict.ts",
        text: `isConfirmed: confirmedHolds.has(holdId(record, name) ?? ""),`,
        without: `isConfirmed: confirmedHolds.size > 0 && holdId(record, name) !== "",`,
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
    incident: foreign,
    rule: "only an object with our owner annotation is treated as a copy",
    removals: [
      {
        file: "lib/downstream/copy-reads.ts",
        text: `if (isOwnedBy(object, owner)) return { kind: "there", copy };`,
        without: `if (isOwnedBy(object, owner) || copy.uid !== "") return { kind: "there", copy };`,
      },
    ],
    test: titled("ownership", "an object of that name that is not ours", "is never touched, and the workload says so"),
  },
  {
    incident: foreign,
    rule: "a foreign object is adopted only if the placement allows it",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `case "Never":\n      return keepForeign(`,
        without: `case "Never":\n      if (message !== "") return { action: "apply", cause: "adopted" };\n      return keepForeign(`,
      },
    ],
    test: titled("ownership", "an object of that name that is not ours", "is never touched, and the workload says so"),
  },
  {
    incident: foreign,
    rule: "adoption defaults to Never",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `{ adoption = "Never" }: Policy,`,
        without: `{ adoption = "Always" }: Policy,`,
      },
    ],
    test: { file: tests.copies, titles: ["decideTarget", "%s"], rows: ["does not overwrite a foreign object"] },
  },
  {
    incident: foreign,
    rule: "a foreign object is not deleted",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (downstreamState.kind !== "there") return { action: "forget" };`,
        without: `if (downstreamState.kind === "foreign") return { action: "remove", uid: downstreamState.copy.uid };\n  if (downstreamState.kind !== "there") return { action: "forget" };`,
      },
    ],
    test: eviction("forgets a foreign object"),
  },
  {
    incident: foreign,
    rule: "ownership is read again before a deletion",
    removals: [
      {
        file: "lib/downstream/copy-writes.ts",
        text: "if (object?.metadata.uid !== uid || verifiedOwner(object, address.registration) === undefined) return;",
        without: "if (object?.metadata.uid !== uid) return;",
      },
    ],
    test: titled(
      "downstream",
      "the downstream client",
      "does not delete an object that stops being ours between the read and the deletion",
    ),
  },
  {
    incident: foreign,
    rule: "a deletion has the uid and resourceVersion that were read as preconditions",
    removals: [
      {
        file: "lib/downstream/copy-writes.ts",
        text: "const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };",
        without: "const preconditions = resourceVersion === undefined ? { uid } : {};",
      },
    ],
    test: titled(
      "downstream",
      "the downstream client",
      "does not delete an object that stops being ours between the read and the deletion",
    ),
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
    incident: namespaces,
    rule: "a namespace is deleted only if its annotations say that TMC owns it",
    removals: [
      {
        file: "lib/downstream/namespaces.ts",
        text: "if (!isNamespaceOf(namespace, locator)) return false;",
        without: "",
      },
    ],
    test: titled("ownership", "a namespace on a cluster", "stays when it is no longer marked as ours"),
  },
  {
    incident: namespaces,
    rule: "a namespace is deleted only if it is empty",
    removals: [namespaceIsEmpty],
    test: titled("ownership", "a namespace on a cluster", "stays while it has something of somebody else's"),
  },
  {
    incident: namespaces,
    rule: "a namespace is kept while a sync record names another copy in it, or anything else is in it",
    removals: [
      {
        file: "lib/sync/dependencies/prune.ts",
        text: "if (!isEvicted || users.length > 0) return true;",
        without: "if (!isEvicted) return true;",
      },
      namespaceIsEmpty,
    ],
    test: titled("ownership", "a namespace on a cluster", "goes with the last copy in it"),
  },
  {
    incident: namespaces,
    rule: "a type that TMC may not list counts as not empty",
    removals: [
      {
        file: "lib/downstream/namespace-contents.ts",
        text: "// A type that TMC may not list may have any objects.\n        return false;",
        without: "return true;",
      },
    ],
    test: titled("downstream", "the downstream client", "keeps a namespace if it may not list everything in it"),
  },
  {
    incident: namespaces,
    rule: "a namespace is kept while it has an object of any type that the cluster serves",
    removals: [
      {
        file: "lib/downstream/namespaces.ts",
        text: "if (!(await isNamespaceEmpty(session, { namespace: name, listedBefore }, signal))) return false;",
        without: "",
      },
    ],
    test: titled(
      "downstream",
      "the downstream client",
      "keeps a namespace that has an object of a type TMC does not sync",
    ),
  },
  {
    incident: namespaces,
    rule: "a namespace is kept if discovery does not list every API of the cluster",
    removals: [{ file: "lib/downstream/namespace-contents.ts", text: "if (!isComplete) return false;", without: "" }],
    test: titled("downstream", "the downstream client", "keeps a namespace if discovery is incomplete"),
  },
  {
    incident: namespaces,
    rule: "a namespace that is needed again during the emptiness check is kept",
    removals: [{ file: namespaceIsEmpty.file, text: "if (session.namespaces.has(name)) return false;", without: "" }],
    test: titled("downstream", "the downstream client", "keeps a namespace that is needed again during its deletion"),
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
        text: `const blocker: Blocker = { reason: "ClusterNotReady", message: downstreamState.message };\n    return { action: "keep", state: "Evicting", blocker };`,
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
        text: `if (!targetCluster.isReady) return { action: "keep", state: "Evicting", blocker: notReady(targetCluster) };`,
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
      "makes known what is born on a cluster, and places it on the others",
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
