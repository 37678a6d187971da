import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expired } from "./api-errors.ts";
import type { ApiFailure } from "./api-failure.ts";
import type { ResourceDefinition } from "./definition.ts";
import type { ApiResponse } from "./http.ts";
import { readWatchRevision } from "./object-lists.ts";
import { isWithin } from "./object-operations.ts";
import { negotiate, objectText, type Representation, warningHeaders } from "./representations.ts";
import { parseListOptions } from "./request-options.ts";
import { type ResourceRequest, type ServerParts, targetOf, viewOptions, visibleOf } from "./resource-request.ts";
import { apiVersionOf, asVersion, createMatcher, selectChange } from "./selection.ts";
import { createWatchStream, type WatchEvent } from "./watch-stream.ts";

/** Without a wish a watch lasts this long, and up to as long again, so that clients do not all come back at once. */
const minTimeoutSeconds = 1800;
const initialEventsEnd = "k8s.io/initial-events-end";

/** Answers a watch: what is there first where asked for, then what happens, from the asked revision on. */
export function respondWatch(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { store, clock, operations, faults, random } = parts;
  const { request, definition, plan, place, subject } = given;
  const { form } = negotiate(request.headers.accept, true);
  const options = parseListOptions(request.query, true);
  const name = given.info.name;
  const selection = {
    ...options,
    visible: visibleOf(given),
    ...(name === ""
      ? {}
      : { fieldSelector: [options.fieldSelector, `metadata.name=${name}`].filter(Boolean).join(",") }),
  };
  const target = targetOf(given);
  const matcher = createMatcher(definition, selection);
  const asked = readWatchRevision(options.resourceVersion) ?? 0;
  const timeoutSeconds =
    options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
      ? options.timeoutSeconds
      : minTimeoutSeconds * (1 + random());

  const initial: WatchEvent[] = [];
  let failure: ApiFailure | undefined = plan.expired ? tooOld(asked, store.revision) : undefined;
  let startsAfter = 0;
  if (failure === undefined && options.sendInitialEvents === true) {
    const list = operations.list(target, {
      labelSelector: selection.labelSelector,
      fieldSelector: selection.fieldSelector,
      visible: selection.visible,
    });
    for (const object of list.items) initial.push({ type: "ADDED", object });
    if (options.allowWatchBookmarks) {
      initial.push({
        type: "BOOKMARK",
        object: bookmark(definition, form, store.revision, { [initialEventsEnd]: "true" }),
      });
    }
  } else if (failure === undefined && asked > 0) {
    const changes = store.changesSince(asked, definition.storage);
    if (changes === undefined) failure = tooOld(asked, store.revision);
    for (const change of changes ?? []) {
      const event = isWithin(target, change) ? selectChange(matcher, change) : undefined;
      if (event !== undefined) initial.push({ type: event.type, object: asVersion(definition, event.object) });
    }
    // A revision from the future: nothing is told until it has come.
    startsAfter = asked;
  }
  if (failure !== undefined) initial.push({ type: "ERROR", object: failure.status });

  const closed = place.closed?.(definition);
  const body = createWatchStream({
    clock,
    initial,
    subscribe: (push) =>
      failure !== undefined
        ? () => {}
        : operations.watch(target, selection, ({ type, object, revision }) => {
            if (revision > startsAfter) push({ type, object });
          }),
    render: renderer(parts, given, form),
    bookmark:
      options.allowWatchBookmarks && failure === undefined
        ? () => ({ type: "BOOKMARK", object: bookmark(definition, form, store.revision) })
        : undefined,
    // A watch that could not begin ends with what it had to say.
    timeoutMs: failure === undefined ? timeoutSeconds * 1000 : 0,
    signals: [request.signal, ...(closed === undefined ? [] : [closed])],
    faults,
    plan,
    subject,
  });
  const headers = { "content-type": "application/json", "cache-control": "no-cache, private" };
  return { status: 200, headers: { ...headers, ...warningHeaders(given.warnings) }, body };
}

const tooOld = (asked: number, known: number): ApiFailure => expired(`too old resource version: ${asked} (${known})`);

function renderer(
  parts: ServerParts,
  given: ResourceRequest,
  form: Representation["form"],
): (event: WatchEvent) => string {
  let isFirst = true;
  return (event) => {
    if (event.type === "ERROR") return JSON.stringify(event.object);
    if (event.type === "BOOKMARK" && form !== "table") return JSON.stringify(event.object);
    // Only the first table of a watch names its columns.
    const withoutColumns = !isFirst;
    isFirst = false;
    return objectText(given.definition, event.object, form, { ...viewOptions(parts, given), withoutColumns });
  };
}

function bookmark(
  definition: ResourceDefinition,
  form: Representation["form"],
  revision: number,
  annotations?: Readonly<Record<string, string>>,
): KubeObject {
  const isPartial = form === "partial";
  return {
    kind: isPartial ? "PartialObjectMetadata" : definition.kind,
    apiVersion: isPartial ? "meta.k8s.io/v1" : apiVersionOf(definition),
    metadata: {
      resourceVersion: String(revision),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
    },
  };
}
