import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { ApiFailure, badRequest, expired, unexpectedError } from "../machinery/api-errors.ts";

import { type ContinueToken, formatContinueToken, parseContinueToken } from "./continue-token.ts";
import type { ObjectSelection, ResourceTarget } from "./operations.ts";
import type { OperationsCore } from "./operations-core.ts";
import { createMatcher, servedApiVersion, toServedVersion } from "./selection.ts";

const tooOldToContinue =
  "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.";

/** Lists the selected objects: completely or in pages, at the current or an earlier revision. */
export function listObjects(core: OperationsCore, target: ResourceTarget, selection: ObjectSelection): KubeList {
  const { definition } = target;
  const matcher = createMatcher(definition, selection);
  const limit = selection.limit !== undefined && selection.limit > 0 ? selection.limit : undefined;
  const token =
    selection.continue === undefined || selection.continue === "" ? undefined : parseContinueToken(selection.continue);
  const wildcard = target.logicalCluster === "*";
  const page = token === undefined ? firstPage(core, target, selection) : nextPage(core, target, selection, token);
  // A selector for one name is a read of one key, and there is no such key across all logical clusters. As in kcp, the
  // list is empty.
  const { revision, objects } = wildcard && matcher.name !== undefined ? { ...page, objects: [] } : page;

  let start = 0;
  if (token !== undefined) {
    const after = token.after;
    start = objects.findIndex((object) => listPath(target, object, wildcard) > after);
    if (start < 0) start = objects.length;
  }
  const items: KubeObject[] = [];
  let index = start;
  for (; index < objects.length && (limit === undefined || items.length < limit); index += 1) {
    const object = objects[index];
    if (object !== undefined && matcher.matches(object)) items.push(toServedVersion(definition, object));
  }
  const last = objects[index - 1];
  const more = index < objects.length && last !== undefined;
  return {
    apiVersion: servedApiVersion(definition),
    kind: definition.listKind,
    metadata: {
      resourceVersion: String(revision),
      ...(more ? { continue: formatContinueToken({ revision, after: listPath(target, last, wildcard) }) } : {}),
      ...(more && matcher.selectsAll && selection.visible === undefined
        ? { remainingItemCount: objects.length - index }
        : {}),
    },
    items,
  };
}

type Page = Readonly<{ revision: number; objects: readonly KubeObject[] }>;

const scopeOf = ({
  definition,
  logicalCluster,
  namespace,
}: ResourceTarget): { logicalCluster?: string; namespace?: string } => ({
  ...(logicalCluster === "*" ? {} : { logicalCluster }),
  ...(namespace === undefined || !definition.namespaced ? {} : { namespace }),
});

const currentObjects = ({ store }: OperationsCore, target: ResourceTarget): readonly KubeObject[] =>
  store.list(target.definition.storage, scopeOf(target));

function firstPage(core: OperationsCore, target: ResourceTarget, selection: ObjectSelection): Page {
  const { store } = core;
  const requested = parseRevision(selection.resourceVersion);
  const match = selection.resourceVersionMatch ?? "";
  if (requested !== undefined && requested > store.revision) throw revisionTooLarge(requested, store.revision);
  const exact =
    match === "Exact" || (match === "" && (selection.limit ?? 0) > 0 && requested !== undefined && requested > 0);
  if (!exact || requested === undefined) return { revision: store.revision, objects: currentObjects(core, target) };
  const objects = store.listAt(requested, target.definition.storage, scopeOf(target));
  if (objects === undefined) throw expired("The resourceVersion for the provided list is too old.");
  return { revision: requested, objects };
}

function nextPage(
  core: OperationsCore,
  target: ResourceTarget,
  selection: ObjectSelection,
  token: ContinueToken,
): Page {
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

/** Parses a list's resourceVersion; undefined if unset. */
function parseRevision(text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  if (!/^\d+$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    );
  }
  return Number(text);
}

/** Parses a watch's resourceVersion. A real server reports a malformed one as an internal error. */
export function parseWatchRevision(text: string | undefined): number | undefined {
  if (text !== undefined && text !== "" && !/^\d+$/.test(text)) {
    throw unexpectedError(
      `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    );
  }
  return parseRevision(text);
}

/** 504 for a future revision. A real server waits before it responds. */
const revisionTooLarge = (requested: number, current: number): ApiFailure =>
  new ApiFailure(504, "Timeout", `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });

/** The key of an object in its list; continue tokens contain it. */
function listPath(target: ResourceTarget, { metadata }: KubeObject, wildcard: boolean): string {
  const name = metadata.name ?? "";
  const parts = [
    ...(wildcard ? [metadata.annotations?.["kcp.io/cluster"] ?? ""] : []),
    ...(target.definition.namespaced && target.namespace === undefined ? [metadata.namespace ?? ""] : []),
    name,
  ];
  return parts.join("/");
}
