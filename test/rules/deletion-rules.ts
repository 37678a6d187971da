import {
  brakeCounts,
  namespaceIsEmpty,
  readyElsewhereFirst,
  recordComesFirst,
  replacementsAreAsked,
} from "./removals.ts";
import type { NamedTest, Rule } from "./rule.ts";

const tests = {
  sync: "test/lib/sync/reconcile.test.ts",
  brake: "test/lib/sync/reconcile-brake.test.ts",
  syncMoves: "test/lib/sync/reconcile-moves.test.ts",
  references: "test/lib/sync/reconcile-references.test.ts",
  copies: "test/lib/sync/targets/decide.test.ts",
  home: "test/lib/sync/status/upsync-origin-status.test.ts",
  moves: "test/lib/controller/moves.test.ts",
  ownership: "test/lib/controller/ownership.test.ts",
  controls: "test/lib/controller/user-controls.test.ts",
  upsyncController: "test/lib/controller/upsync.test.ts",
  fleet: "test/lib/downstream/client.faults.test.ts",
  upsync: "test/lib/upsync/reconcile.test.ts",
  upsyncDecision: "test/lib/upsync/decide.test.ts",
} as const;

const titled = (file: keyof typeof tests, ...titles: readonly string[]): NamedTest => ({ file: tests[file], titles });
const leaving = (row: string): NamedTest => ({
  file: tests.copies,
  titles: ["a copy that belongs elsewhere", "%s"],
  rows: [row],
});
const born = (row: string): NamedTest => ({
  file: tests.upsyncDecision,
  titles: ["what becomes of a name", "%s"],
  rows: [row],
});
const gone = (title: string): NamedTest => ({
  file: tests.upsync,
  titles: ["where clusters are %s:", "what goes from a cluster", title],
  rows: ["watched"],
});

const finalizerWrite = {
  file: "lib/sync/ownership/protect.ts",
  text: "needsFinalizer ? workloads.writeFinalizers(key, workload, [...finalizers, syncFinalizer], signal) : workload,",
  without: "needsFinalizer ? workload : workload,",
} as const;

const tooMany = "a slip of the pen, or a list that came short, sends very many copies away at once";
const strangers = "something that is not ours is overwritten or deleted";
const namespaces = "a namespace is removed with something in it";

/** What stands between a decision and the end of something that somebody needs. */
export const deletionRules: readonly Rule[] = [
  {
    incident: tooMany,
    rule: "when very many copies would leave at once, they are held",
    removals: [brakeCounts],
    test: titled("moves", "many workloads at once", "are held when the placement is lost, until somebody confirms"),
  },
  {
    incident: tooMany,
    rule: "the brake counts by what placements say now, before anything has gone",
    removals: [brakeCounts],
    test: {
      file: tests.brake,
      titles: ["a slip of the pen", "sends nothing away where many lose their placement by %s"],
      rows: ["a selector of other labels"],
    },
  },
  {
    incident: tooMany,
    rule: "a copy that is held stays until that is confirmed",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: "if (held !== undefined && !isConfirmed)",
        without: "if (held === null)",
      },
    ],
    test: titled("brake", "the brake", "holds when very many would leave at once, and lets go when it is confirmed"),
  },
  {
    incident: tooMany,
    rule: "what is held stays held, however few are left",
    removals: [
      {
        file: "lib/sync/eviction/evict.ts",
        text: `return before?.state === "Held" && before.reason === "DeletionsHeld" ? before.message : brake(name);`,
        without: `return before?.state === "Held" ? brake(name) : brake(name);`,
      },
    ],
    test: titled("brake", "the brake", "goes on holding what nobody confirmed, however few are left"),
  },
  {
    incident: tooMany,
    rule: "a confirmation names the one hold that it is about",
    removals: [
      {
        file: "lib/sync/eviction/evict.ts",
        text: `isConfirmed: confirmed.has(holdOf(record, name) ?? ""),`,
        without: `isConfirmed: confirmed.size > 0 && holdOf(record, name) !== "",`,
      },
    ],
    test: titled("brake", "the brake", "takes no confirmation that does not say which hold it is about"),
  },
  {
    incident: "the only copy that serves is deleted because a watch has fallen behind",
    rule: "right before a copy goes, the clusters that replace it are asked themselves",
    removals: [replacementsAreAsked],
    test: titled("syncMoves", "moves", "keep the old copy when the new one fails between the look and the removal"),
  },
  {
    incident: "the only copy that serves is deleted before the other one does",
    rule: "a copy goes after the workload is ready where it belongs",
    removals: [readyElsewhereFirst],
    test: leaving("stays until then"),
  },
  {
    incident: "a copy that nobody finds again, because its workload went first",
    rule: "before a workload is let go, its clusters are asked once more",
    removals: [
      {
        file: "lib/sync/ownership/finish.ts",
        text: "const back = isOver ? await comeBack(tools, collected, signal) : [];",
        without: "const back: readonly string[] = isOver && !isOver ? await comeBack(tools, collected, signal) : [];",
      },
    ],
    test: titled("syncMoves", "moves", "let nothing go that somebody has put back since the cluster was asked"),
  },
  {
    incident: "a copy that nobody finds again, because its workload went first",
    rule: "the finalizer is there before the first copy",
    removals: [finalizerWrite],
    test: titled(
      "sync",
      "a workload that a placement selects",
      "is not written before finalizer and record say where it will be",
    ),
  },
  {
    incident: "a copy that nobody finds again, because its workload went first",
    rule: "a deleted workload waits for its copies",
    removals: [finalizerWrite],
    test: titled("sync", "a workload that is deleted", "waits for a cluster that is not heard from, and not for ever"),
  },
  {
    incident: "a copy that nobody finds again, because nothing says where it is",
    rule: "the record names a cluster before the first write there",
    removals: [recordComesFirst],
    test: titled(
      "sync",
      "a workload that a placement selects",
      "is not written before finalizer and record say where it will be",
    ),
  },
  {
    incident: "a copy that nobody finds again, because nothing says where it is",
    rule: "when the record was lost, every cluster is asked",
    removals: [
      {
        file: "lib/sync/observed.ts",
        text: "record === undefined && hasFinalizer ? await findCopies(tools, base, signal) : []",
        without: "record === undefined && !hasFinalizer ? await findCopies(tools, base, signal) : []",
      },
    ],
    test: titled("sync", "what is not known", "is looked for on every cluster when the record was lost"),
  },
  {
    incident: strangers,
    rule: "only what carries our mark, and is what the mark says, is taken for a copy",
    removals: [
      {
        file: "lib/downstream/client.ts",
        text: `if (belongsTo(object, origin)) return { kind: "there", copy };`,
        without: `if (belongsTo(object, origin) || copy.uid !== "") return { kind: "there", copy };`,
      },
    ],
    test: titled("ownership", "an object of that name that is not ours", "is never touched, and the workload says so"),
  },
  {
    incident: strangers,
    rule: "what is not ours is taken over only where the placement says so",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `case "Never":\n      return foreign(`,
        without: `case "Never":\n      if (who !== "") return { do: "apply", because: "adopted" };\n      return foreign(`,
      },
    ],
    test: titled("ownership", "an object of that name that is not ours", "is never touched, and the workload says so"),
  },
  {
    incident: strangers,
    rule: "who says nothing of taking over means never",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `{ adoption = "Never" }: Policy,`,
        without: `{ adoption = "Always" }: Policy,`,
      },
    ],
    test: { file: tests.copies, titles: ["a copy that belongs on its cluster", "%s"], rows: ["is no stranger's"] },
  },
  {
    incident: strangers,
    rule: "what is not ours is not removed either",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (downstreamState.kind !== "there") return { do: "forget" };`,
        without: `if (downstreamState.kind === "foreign") return { do: "remove", uid: downstreamState.copy.uid };\n  if (downstreamState.kind !== "there") return { do: "forget" };`,
      },
    ],
    test: leaving("is forgotten when it is a stranger's"),
  },
  {
    incident: strangers,
    rule: "what is about to be removed is looked at once more, and left where it is no longer ours",
    removals: [
      {
        file: "lib/downstream/client.ts",
        text: "if (object?.metadata.uid !== uid || ownOrigin(object, registration) === undefined) return;",
        without: "if (object?.metadata.uid !== uid) return;",
      },
    ],
    test: titled("fleet", "a fleet", "does not remove what stops being ours between its look and its deletion"),
  },
  {
    incident: strangers,
    rule: "a deletion names the uid and the version that were looked at",
    removals: [
      {
        file: "lib/downstream/client.ts",
        text: "const preconditions = { uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };",
        without: "const preconditions = resourceVersion === undefined ? { uid } : {};",
      },
    ],
    test: titled("fleet", "a fleet", "does not remove what stops being ours between its look and its deletion"),
  },
  {
    incident: "a proxy's error page taken for the word of a cluster",
    rule: "a 404 that does not name the object says nothing about it while its type is served",
    removals: [
      {
        file: "lib/downstream/client.ts",
        text: "if (!(await isServed(client, at.type, signal))) return undefined;",
        without: 'if (faultOf(error) === "not-found") return undefined;',
      },
    ],
    test: titled("fleet", "a fleet", "does not take the 404 of whoever stands before a cluster for the cluster's word"),
  },
  {
    incident: namespaces,
    rule: "a namespace goes only where its marks say that it is ours",
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
    rule: "a namespace goes only when nothing of anybody's is in it",
    removals: [namespaceIsEmpty],
    test: titled("ownership", "a namespace on a cluster", "stays while it has something of somebody else's"),
  },
  {
    incident: namespaces,
    rule: "a namespace stays while a record names another copy there, and while anything is in it",
    removals: [
      {
        file: "lib/sync/dependencies/prune.ts",
        text: `else if (\n        isLeft &&\n        neighbours.length === 0 &&\n        !(await`,
        without: "else if (isLeft && !(await",
      },
      namespaceIsEmpty,
    ],
    test: titled("ownership", "a namespace on a cluster", "goes with the last copy in it"),
  },
  {
    incident: namespaces,
    rule: "where we may not look, there may be anything",
    removals: [
      {
        file: "lib/downstream/namespaces.ts",
        text: `if (faultOf(error) === "forbidden") return false;`,
        without: `if (faultOf(error) === "forbidden") return true;`,
      },
    ],
    test: titled("fleet", "a fleet", "keeps a namespace of which it may not see everything"),
  },
  {
    incident: namespaces,
    rule: "whoever needs a namespace while it is looked at keeps it",
    removals: [{ ...namespaceIsEmpty, without: "if (isEmpty.includes(false)) return false;" }],
    test: titled("fleet", "a fleet", "keeps a namespace that is needed again while it looks"),
  },
  {
    incident: "data lost with the last workload that used it",
    rule: "a claim that came along does not go with its last user",
    removals: [
      {
        file: "lib/sync/dependencies/distribute.ts",
        text: `if (sighting.kind !== "there" || kind === "PersistentVolumeClaim") continue;`,
        without: `if (sighting.kind !== "there") continue;`,
      },
    ],
    test: titled(
      "references",
      "a workload that a placement selects",
      "leaves a claim that came along where it is, because that holds data",
    ),
  },
  {
    incident: "a Secret taken away from those who still need it",
    rule: "what came along stays while another record on the cluster refers to it",
    removals: [{ file: "lib/sync/dependencies/prune.ts", text: "!needed.has(idOf(reference)) &&", without: "" }],
    test: titled(
      "references",
      "a workload that a placement selects",
      "shares what it refers to with others, until the last of them goes",
    ),
  },
  {
    incident: "work deleted on a cluster that could not be asked",
    rule: "what could not be looked at is kept, and not forgotten",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `return { do: "keep", state: "Evicting", obstacle: { reason: "ClusterNotReady", message: downstreamState.why } };`,
        without: `return { do: "forget" };`,
      },
    ],
    test: leaving("is not taken for gone when it could not be looked at"),
  },
  {
    incident: "work deleted on a cluster that could not be asked",
    rule: "nothing is removed from a cluster that is not Ready",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (!targetCluster.isReady) return { do: "keep", state: "Evicting", obstacle: unheard(targetCluster) };`,
        without: "",
      },
    ],
    test: leaving("is not touched while its cluster is not heard from"),
  },
  {
    incident: "work removed although its owner had stopped everything",
    rule: "while sync is paused nothing leaves, unless the workload itself is deleted",
    removals: [
      {
        file: "lib/sync/targets/decide.ts",
        text: `if (stopped !== undefined && intent !== "deleted") {`,
        without: `if (stopped !== undefined && intent !== "deleted" && isConfirmed) {`,
      },
    ],
    test: leaving("stays while its owner has paused sync"),
  },
  {
    incident: "work moved by a second placement that somebody added",
    rule: "the placement that a workload is placed by governs it for as long as it selects it",
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
    incident: "what was born on a cluster is deleted with everything else that a list did not show",
    rule: "when many go from a cluster at once, the workspace keeps them until somebody confirms",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: "if (held === undefined) return { act",
        without: `if (held !== "") return { act`,
      },
    ],
    test: gone("is held when many go at once, until somebody has said how many may"),
  },
  {
    incident: "what was born on a cluster is deleted because that is not heard from",
    rule: "a cluster that does not answer has not said that its object is gone",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: `case "unknown":\n      return { act: nothing, hindrances: [] };`,
        without: `case "unknown":\n      return removal(registration, held);`,
      },
    ],
    test: gone("has not gone because the cluster does not answer, or is not heard from"),
  },
  {
    incident: "what was born on a cluster is deleted because that opts out",
    rule: "the very same object, only not opted in any more, stays known",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: "if (birth.uid === birthplace.uid) return { act: nothing, hindrances: [] };",
        without: "",
      },
    ],
    test: born("it stays when the origin is there, and only not opted in any more"),
  },
  {
    incident: "an object of the workspace overwritten by one of a cluster",
    rule: "what the workspace has by itself is its owner's, whoever has one of that name",
    removals: [
      {
        file: "lib/upsync/decide.ts",
        text: "if (claim === undefined || birthplace === undefined) return { act: nothing, hindrances: [] };",
        without: `if (claim === undefined || birthplace === undefined) {\n    const [other] = claims;\n    return { act: other ? { do: "write", registration: other.registration } : nothing, hindrances: [] };\n  }`,
      },
    ],
    test: born("what is in the workspace by itself is never overwritten"),
  },
  {
    incident: "a copy that overwrites its own original",
    rule: "what was born on a cluster is never put back there, by the decision",
    removals: [{ file: "lib/sync/decide.ts", text: "name !== birthplace && allows(name)", without: "allows(name)" }],
    test: titled("home", "a workload that was born on a cluster", "never returns there as a copy"),
  },
  {
    incident: "a copy that overwrites its own original",
    rule: "what was born on a cluster is never put back there, in a controller",
    removals: [{ file: "lib/sync/decide.ts", text: "name !== birthplace && allows(name)", without: "allows(name)" }],
    test: titled(
      "upsyncController",
      "a controller with upsync",
      "makes known what is born on a cluster, and places it on the others",
    ),
  },
];
