import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import { expired, methodNotAllowed, objectNotFound, resourceNotFound } from "./api-errors.ts";
import type { ResourceDefinition, Subresource, Verb } from "./definition.ts";

import type { ApiResponse } from "./http.ts";
import { isObject } from "./machinery/json-value.ts";
import type { ObjectTarget, WriteContext } from "./operations.ts";
import {
  listText,
  negotiate,
  objectText,
  plainResponse,
  type Representation,
  textResponse,
  warningHeaders,
} from "./representations.ts";
import { jsonBody, parseDeleteBody, parseObject, parseOther, parsePatch, patchKindOf } from "./request-body.ts";
import type { RequestInfo } from "./request-info.ts";
import { parseDeleteOptions, parseListOptions, parseWriteOptions } from "./request-options.ts";
import { type ResourceRequest, type ServerParts, targetOf, viewOptions, visibleOf } from "./resource-request.ts";
import { scaleOf } from "./scale.ts";
import { staleObject, staleRevision } from "./stale-reads.ts";
import { respondWatch } from "./watch-requests.ts";

/** Answers a request about a resource that is served. */
export function respondResource(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { info, definition } = given;
  checkPath(info, definition);
  if (info.subresource !== "") return respondSubresource(parts, given);
  const verb = definition.verbs.find((name) => name === info.verb);
  if (verb === undefined) throw methodNotAllowed();
  switch (verb) {
    case "get":
      return respondGet(parts, given);
    case "list":
      return respondList(parts, given);
    case "watch":
      return respondWatch(parts, given);
    case "create":
      return respondCreate(parts, given);
    case "update":
      return respondUpdate(parts, given);
    case "patch":
      return respondPatch(parts, given);
    case "delete":
      return respondDelete(parts, given);
    case "deletecollection":
      return respondDeleteCollection(parts, given);
    default:
      throw methodNotAllowed();
  }
}

/** Namespaced objects are below a namespace, and nothing else is; only lists and watches see all namespaces. */
function checkPath({ tooDeep, namespace, name, verb }: RequestInfo, definition: ResourceDefinition): void {
  if (tooDeep) throw resourceNotFound();
  // A namespace's own path names it twice.
  const isNamespace = definition.group === "" && definition.plural === "namespaces" && namespace === name;
  if (!definition.namespaced && namespace !== "" && !isNamespace) throw resourceNotFound();
  if (!definition.namespaced || namespace !== "") return;
  if (name !== "") throw resourceNotFound();
  if (verb !== "list" && verb !== "watch") throw methodNotAllowed();
}

function namedTarget(given: ResourceRequest): ObjectTarget {
  if (given.info.name === "") throw methodNotAllowed();
  return { ...targetOf(given), name: given.info.name };
}

function visibleObject(parts: ServerParts, given: ResourceRequest, target: ObjectTarget): KubeObject {
  const object = staleObject(parts, given, target) ?? parts.operations.get(target);
  if (visibleOf(given)?.(object) === false) throw objectNotFound(target.definition, target.name);
  return object;
}

/** Writes to what a place does not show meet nothing. */
function checkVisible(parts: ServerParts, given: ResourceRequest, target: ObjectTarget): void {
  if (given.place.visible === undefined) return;
  const { definition, cluster, namespace = "", name } = target;
  const key = { storage: definition.storage, cluster, namespace: definition.namespaced ? namespace : "", name };
  const object = parts.store.get(key);
  if (object !== undefined && visibleOf(given)?.(object) === false) throw objectNotFound(definition, name);
}

function answer(
  parts: ServerParts,
  given: ResourceRequest,
  status: number,
  object: KubeObject | Status,
  { form, mediaType }: Representation,
): ApiResponse {
  const text = isKubeObject(object)
    ? objectText(given.definition, object, form, viewOptions(parts, given))
    : JSON.stringify(object);
  return textResponse(status, text, mediaType, warningHeaders(given.warnings));
}

const isKubeObject = (object: KubeObject | Status): object is KubeObject =>
  object.kind !== undefined && object.kind !== "Status" && isObject(object.metadata);

function respondGet(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const representation = negotiate(given.request.headers.accept);
  return answer(parts, given, 200, visibleObject(parts, given, namedTarget(given)), representation);
}

function respondList(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { request, definition, plan } = given;
  const { form, mediaType } = negotiate(request.headers.accept, true);
  const options = parseListOptions(request.query, false);
  const isNew = (options.resourceVersion ?? "") === "" && (options.continue ?? "") === "";
  if (plan.expired && !isNew) throw expired("The resourceVersion for the provided list is too old.");
  const stale = staleRevision(parts, given);
  const selection = {
    ...options,
    visible: visibleOf(given),
    ...(stale === undefined || (options.continue ?? "") !== ""
      ? {}
      : { resourceVersion: String(stale), resourceVersionMatch: "Exact" }),
  };
  const list = parts.operations.list(targetOf(given), selection);
  return textResponse(200, listText(definition, list, form, viewOptions(parts, given)), mediaType);
}

type Writing = Readonly<{ context: WriteContext; force: boolean }>;

function writing(
  { request, user, warnings }: ResourceRequest,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  isApply = false,
): Writing {
  const options = parseWriteOptions(kind, request.query, request.headers["user-agent"], isApply);
  const context: WriteContext = {
    user,
    fieldManager: options.fieldManager,
    dryRun: options.dryRun,
    fieldValidation: options.fieldValidation,
    warn: (message) => {
      if (!warnings.includes(message)) warnings.push(message);
    },
  };
  return { context, force: options.force };
}

const bodyOf = ({ request }: ResourceRequest): { body: string; contentType: string | undefined } => ({
  body: request.body,
  contentType: request.headers["content-type"],
});

const jsonText = ({ request }: ResourceRequest): string | undefined =>
  jsonBody(request.body, request.headers["content-type"]);

function respondCreate(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { request, definition, place, user } = given;
  // A name in the path belongs to updates; what is posted brings its own.
  if (given.info.name !== "") throw methodNotAllowed();
  const representation = negotiate(request.headers.accept);
  const { context } = writing(given, "CreateOptions");
  const object = parseObject(place.catalog, definition, bodyOf(given));
  const target = targetOf(given);
  if (place.admit !== undefined) place.admit({ ...target, name: object.metadata.name ?? "" }, object, user);
  const created = parts.operations.create(target, object, { ...context, body: jsonText(given) });
  return answer(parts, given, 201, created, representation);
}

function respondUpdate(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { request, definition, place, user, info } = given;
  const target = namedTarget(given);
  const representation = negotiate(request.headers.accept);
  const { context } = writing(given, "UpdateOptions");
  const object =
    info.subresource === "scale"
      ? parseOther(request.body, request.headers["content-type"])
      : parseObject(place.catalog, definition, bodyOf(given));
  checkVisible(parts, given, target);
  if (place.admit !== undefined) place.admit(target, object, user);
  const before = parts.store.revision;
  const updated = parts.operations.update(target, object, {
    ...context,
    body: jsonText(given),
    ...(info.subresource === "" ? {} : { subresource: info.subresource }),
  });
  // A few types are created by an update; their first version tells.
  const isCreated = updated.metadata.resourceVersion === String(before + 1) && isFirst(parts, target, updated);
  return answer(parts, given, isCreated ? 201 : 200, updated, representation);
}

function isFirst({ store }: ServerParts, { definition }: ObjectTarget, { metadata }: KubeObject): boolean {
  const revision = Number(metadata.resourceVersion);
  return store.changesSince(revision - 1, definition.storage)?.[0]?.type === "ADDED";
}

function respondPatch(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { request, definition, place, user, info } = given;
  const target = namedTarget(given);
  const representation = negotiate(request.headers.accept);
  const kind = patchKindOf(definition, request.headers["content-type"]);
  const { context, force } = writing(given, "PatchOptions", kind === "apply");
  const patch = { kind, body: parsePatch(kind, request.body), force };
  const full = { ...context, ...(info.subresource === "" ? {} : { subresource: info.subresource }) };
  checkVisible(parts, given, target);
  if (place.admit !== undefined) {
    place.admit(target, parts.operations.patch(target, patch, { ...full, dryRun: true }).object, user);
  }
  const { object, created } = parts.operations.patch(target, patch, full);
  return answer(parts, given, created ? 201 : 200, object, representation);
}

function respondDelete(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { request, user, place } = given;
  const target = namedTarget(given);
  const representation = negotiate(request.headers.accept);
  const body = parseDeleteBody(request.body, request.headers["content-type"]);
  const options = parseDeleteOptions(request.query, body);
  checkVisible(parts, given, target);
  if (place.admit !== undefined) place.admit(target, parts.operations.get(target), user);
  const result = parts.operations.delete(target, options.request, { user, dryRun: options.dryRun });
  const isWaiting = isKubeObject(result) && result.metadata.deletionTimestamp !== undefined;
  const status = isWaiting && options.orphanDependents === false ? 202 : 200;
  return answer(parts, given, status, result, representation);
}

function respondDeleteCollection(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { request, user, definition } = given;
  const { form, mediaType } = negotiate(request.headers.accept);
  const selection = { ...parseListOptions(request.query, false), visible: visibleOf(given) };
  const body = parseDeleteBody(request.body, request.headers["content-type"]);
  const options = parseDeleteOptions(request.query, body);
  const list = parts.operations.deleteCollection(targetOf(given), selection, options.request, {
    user,
    dryRun: options.dryRun,
  });
  return textResponse(200, listText(definition, list, form, viewOptions(parts, given)), mediaType);
}

function respondSubresource(parts: ServerParts, given: ResourceRequest): ApiResponse {
  const { info, definition } = given;
  const isFinalize = info.subresource === "finalize" && definition.group === "" && definition.plural === "namespaces";
  const extra = definition.extraSubresources;
  const known = extra !== undefined && Object.hasOwn(extra, info.subresource) ? extra[info.subresource] : undefined;
  if (known !== undefined && !isFinalize) return respondExtra(parts, given, known);
  const isServed =
    (info.subresource === "status" && definition.status) ||
    (info.subresource === "scale" && definition.scale !== undefined) ||
    isFinalize;
  if (!isServed) throw resourceNotFound();
  switch (info.verb) {
    case "get": {
      if (isFinalize) throw methodNotAllowed();
      const representation = negotiate(given.request.headers.accept);
      const object = visibleObject(parts, given, namedTarget(given));
      return answer(
        parts,
        given,
        200,
        info.subresource === "scale" ? scaleOf(definition, object) : object,
        representation,
      );
    }
    case "update":
      return respondUpdate(parts, given);
    case "patch":
      if (isFinalize) throw methodNotAllowed();
      return respondPatch(parts, given);
    default:
      throw methodNotAllowed();
  }
}

function respondExtra(parts: ServerParts, given: ResourceRequest, subresource: Subresource): ApiResponse {
  const { info, request, place, user } = given;
  const verb: Verb | undefined = subresource.verbs.find((name) => name === info.verb);
  if (verb === undefined) throw methodNotAllowed();
  const representation = negotiate(request.headers.accept);
  const parent = visibleObject(parts, given, namedTarget(given));
  const body = verb === "get" ? undefined : parseOther(request.body, request.headers["content-type"]);
  const result = subresource.handle(
    { verb, parent, ...(body === undefined ? {} : { body }) },
    { cluster: place.cluster, user, operations: parts.operations, now: parts.clock.now() },
  );
  if (typeof result === "string") return plainResponse(200, result);
  return answer(parts, given, verb === "create" ? 201 : 200, result, representation);
}
