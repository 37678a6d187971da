import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { badRequest, expired, unforeseen } from "./api-errors.ts";
import { ApiFailure } from "./api-failure.ts";
import { type ContinueToken, formatContinueToken, parseContinueToken } from "./continue-token.ts";
import type { Selection, Target } from "./operations.ts";
import type { OperationsCore } from "./operations-core.ts";
import { apiVersionOf, asVersion, createMatcher } from "./selection.ts";

const tooOldToContinue =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/** Lists what a selection sees: whole or page by page, as it is now or as it was. */
export function listObjects(core: OperationsCore, target: Target, selection: Selection): KubeList {
  const { definition } = target;
  const matcher = createMatcher(definition, selection);
  const limit = selection.limit !== undefined && selection.limit > 0 ? selection.limit : undefined;
  const token =
    selection.continue === undefined || selection.continue === "" ? undefined : parseContinueToken(selection.continue);
  const wildcard = target.cluster === "*";
  const page = token === undefined ? firstPage(core, target, selection) : nextPage(core, target, selection, token);
  // A selector by name is read as one place in the store, and over all logical clusters that is no place at all.
  const { revision, objects } = wildcard && matcher.name !== undefined ? { ...page, objects: [] } : page;

  let start = 0;
  if (token !== undefined) {
    const after = token.after;
    start = objects.findIndex((object) => pathOf(target, object, wildcard) > after);
    if (start < 0) start = objects.length;
  }
  const items: KubeObject[] = [];
  let index = start;
  for (; index < objects.length && (limit === undefined || items.length < limit); index += 1) {
    const object = objects[index];
    if (object !== undefined && matcher.matches(object)) items.push(asVersion(definition, object));
  }
  const last = objects[index - 1];
  const more = index < objects.length && last !== undefined;
  return {
    apiVersion: apiVersionOf(definition),
    kind: definition.listKind,
    metadata: {
      resourceVersion: String(revision),
      ...(more ? { continue: formatContinueToken({ revision, after: pathOf(target, last, wildcard) }) } : {}),
      ...(more && matcher.everything && selection.visible === undefined
        ? { remainingItemCount: objects.length - index }
        : {}),
    },
    items,
  };
}

type Page = Readonly<{ revision: number; objects: readonly KubeObject[] }>;

const scopeOf = ({ definition, cluster, namespace }: Target): { cluster?: string; namespace?: string } => ({
  ...(cluster === "*" ? {} : { cluster }),
  ...(namespace === undefined || !definition.namespaced ? {} : { namespace }),
});

/** Everything of the target as it is now. */
export const currentObjects = ({ store }: OperationsCore, target: Target): readonly KubeObject[] =>
  store.list(target.definition.storage, scopeOf(target));

function firstPage(core: OperationsCore, target: Target, selection: Selection): Page {
  const { store } = core;
  const asked = readRevision(selection.resourceVersion);
  const match = selection.resourceVersionMatch ?? "";
  if (asked !== undefined && asked > store.revision) throw tooLarge(asked, store.revision);
  const exact = match === "Exact" || (match === "" && (selection.limit ?? 0) > 0 && asked !== undefined && asked > 0);
  if (!exact || asked === undefined) return { revision: store.revision, objects: currentObjects(core, target) };
  const objects = store.listAt(asked, target.definition.storage, scopeOf(target));
  if (objects === undefined) throw expired("The resourceVersion for the provided list is too old.");
  return { revision: asked, objects };
}

function nextPage(core: OperationsCore, target: Target, selection: Selection, token: ContinueToken): Page {
  const { store } = core;
  const { resourceVersion } = selection;
  if (resourceVersion !== undefined && resourceVersion !== "" && resourceVersion !== "0") {
    throw badRequest("specifying resource version is not allowed when using continue");
  }
  if (token.revision === undefined) return { revision: store.revision, objects: currentObjects(core, target) };
  const objects = store.listAt(token.revision, target.definition.storage, scopeOf(target));
  if (objects !== undefined && token.revision <= store.revision) return { revision: token.revision, objects };
  const failure = expired(tooOldToContinue);
  failure.status.metadata = { continue: formatContinueToken({ revision: undefined, after: token.after }) };
  throw failure;
}

/** Reads a list's resourceVersion; undefined where none was given. */
export function readRevision(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    );
  }
  return Number(text);
}

/** Reads a watch's resourceVersion; a real server takes a malformed one for its own fault. */
export function readWatchRevision(text: string | undefined): number | undefined {
  if (text !== undefined && text !== "" && !/^\d+$/.test(text)) {
    throw unforeseen(`resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`);
  }
  return readRevision(text);
}

/** 504 for a revision that is still to come; a real server says so after waiting for it. */
export const tooLarge = (asked: number, current: number): ApiFailure =>
  new ApiFailure(504, "Timeout", `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });

/** An object's place in its list, which is where the next page starts. */
function pathOf(target: Target, { metadata }: KubeObject, wildcard: boolean): string {
  const name = metadata.name ?? "";
  const parts = [
    ...(wildcard ? [metadata.annotations?.["kcp.io/cluster"] ?? ""] : []),
    ...(target.definition.namespaced && target.namespace === undefined ? [metadata.namespace ?? ""] : []),
    name,
  ];
  return parts.join("/");
}
