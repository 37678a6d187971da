import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { type ApiFailure, expired } from "../machinery/api-errors.ts";
import { parseWatchRevision } from "../storage/object-lists.ts";
import { isWithin } from "../storage/object-operations.ts";
import { createMatcher, selectChange, servedApiVersion, toServedVersion } from "../storage/selection.ts";
import type { ApiResponse } from "./http.ts";
import { negotiate, objectText, type Representation, warningHeaders } from "./representations.ts";
import { parseListOptions } from "./request-options.ts";
import {
  type AuthorizedRequest,
  type ServerParts,
  targetOf,
  viewOptions,
  visibilityFilter,
} from "./resource-request.ts";
import { createWatchStream, type StreamEvent } from "./watch-stream.ts";

/**
 * Default duration of a watch. A random part of up to the same length is added, so that clients do not reconnect at the
 * same time.
 */
const minTimeoutSeconds = 1800;
const initialEventsEnd = "k8s.io/initial-events-end";

/** Responds to a watch: the current objects if requested, then changes after the requested revision. */
export function respondWatch(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { store, clock, operations, faults, random } = parts;
  const { request, definition, plan, apiRoot, subject } = resourceRequest;
  const { form } = negotiate(request.headers.accept, true);
  const options = parseListOptions(request.query, true);
  const name = resourceRequest.info.name;
  const selection = {
    ...options,
    visible: visibilityFilter(resourceRequest),
    ...(name === ""
      ? {}
      : { fieldSelector: [options.fieldSelector, `metadata.name=${name}`].filter(Boolean).join(",") }),
  };
  const target = targetOf(resourceRequest);
  const matcher = createMatcher(definition, selection);
  const requestedRevision = parseWatchRevision(options.resourceVersion) ?? 0;
  const timeoutSeconds =
    options.timeoutSeconds !== undefined && options.timeoutSeconds > 0
      ? options.timeoutSeconds
      : minTimeoutSeconds * (1 + random());

  const initial: StreamEvent[] = [];
  let failure: ApiFailure | undefined = plan.expired ? tooOld(requestedRevision, store.revision) : undefined;
  let afterRevision = 0;
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
  } else if (failure === undefined && requestedRevision > 0) {
    const changes = store.changesSince(requestedRevision, definition.storage);
    if (changes === undefined) failure = tooOld(requestedRevision, store.revision);
    for (const change of changes ?? []) {
      const event = isWithin(target, change) ? selectChange(matcher, change) : undefined;
      if (event !== undefined) initial.push({ type: event.type, object: toServedVersion(definition, event.object) });
    }
    // For a future revision, no event is sent before it is reached.
    afterRevision = requestedRevision;
  }
  if (failure !== undefined) initial.push({ type: "ERROR", object: failure.status });

  const closed = apiRoot.closed?.(definition);
  const body = createWatchStream({
    clock,
    initial,
    subscribe: (push) =>
      failure !== undefined
        ? () => {}
        : operations.watch(target, selection, ({ type, object, revision }) => {
            if (revision > afterRevision) push({ type, object });
          }),
    render: renderer(parts, resourceRequest, form),
    bookmark:
      options.allowWatchBookmarks && failure === undefined
        ? () => ({ type: "BOOKMARK", object: bookmark(definition, form, store.revision) })
        : undefined,
    // A watch that could not start ends after its error.
    timeoutMs: failure === undefined ? timeoutSeconds * 1000 : 0,
    signals: [request.signal, ...(closed === undefined ? [] : [closed])],
    faults,
    plan,
    subject,
  });
  const headers = { "content-type": "application/json", "cache-control": "no-cache, private" };
  return { status: 200, headers: { ...headers, ...warningHeaders(resourceRequest.warnings) }, body };
}

const tooOld = (requested: number, oldest: number): ApiFailure =>
  expired(`too old resource version: ${requested} (${oldest})`);

function renderer(
  parts: ServerParts,
  resourceRequest: AuthorizedRequest,
  form: Representation["form"],
): (event: StreamEvent) => string {
  let isFirst = true;
  return (event) => {
    if (event.type === "ERROR") return JSON.stringify(event.object);
    if (event.type === "BOOKMARK" && form !== "table") return JSON.stringify(event.object);
    // Only the first table of a watch has column definitions.
    const withoutColumns = !isFirst;
    isFirst = false;
    return objectText(resourceRequest.definition, event.object, form, {
      ...viewOptions(parts, resourceRequest),
      withoutColumns,
    });
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
    apiVersion: isPartial ? "meta.k8s.io/v1" : servedApiVersion(definition),
    metadata: {
      resourceVersion: String(revision),
      ...(annotations === undefined ? {} : { annotations: { ...annotations } }),
    },
  };
}
