import { tests, titled } from "./named-tests.ts";
import { namespaceIsEmpty } from "./removals.ts";
import type { NamedTest, Rule } from "./rule.ts";

const eviction = (row: string): NamedTest => ({
  file: tests.copies,
  titles: ["decideEviction", "%s"],
  rows: [row],
});
const foreign = "a foreign object is overwritten or deleted";
const namespaces = "a namespace is deleted with objects in it";

/** Rules that protect foreign objects, and the namespaces that contain them. */
export const ownershipRules: readonly Rule[] = [
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
    test: titled("ownership", "a namespace on a cluster", "stays while it has a foreign object"),
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
];
