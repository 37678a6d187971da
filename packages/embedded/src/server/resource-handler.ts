import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject, Status } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition, Subresource, Verb } from "../definitions/definition.ts";
import { expired, methodNotAllowed, objectNotFound, resourceNotFound } from "../machinery/api-errors.ts";
import type { ObjectTarget, WriteContext } from "../storage/operations.ts";
import { scaleOf } from "../storage/scale.ts";
import { toServedVersion } from "../storage/selection.ts";
import type { ApiResponse } from "./http.ts";
import {
  listText,
  negotiate,
  objectText,
  plainResponse,
  type Representation,
  textResponse,
  warningHeaders,
} from "./representations.ts";
import {
  jsonBody,
  parseDeleteBody,
  parseObject,
  parsePatch,
  parseSubresourceBody,
  patchKindOf,
} from "./request-body.ts";
import type { RequestInfo } from "./request-info.ts";
import { parseDeleteOptions, parseListOptions, parseWriteOptions } from "./request-options.ts";
import {
  type AuthorizedRequest,
  type ServerParts,
  targetOf,
  viewOptions,
  visibilityFilter,
} from "./resource-request.ts";
import { respondWatch } from "./watch-handler.ts";

/** Responds to a request for a served resource. */
export function respondResource(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { info, definition } = resourceRequest;
  checkPath(info, definition);
  if (info.subresource !== "") return respondSubresource(parts, resourceRequest);
  const verb = definition.verbs.find((name) => name === info.verb);
  if (verb === undefined) throw methodNotAllowed();
  switch (verb) {
    case "get":
      return respondGet(parts, resourceRequest);
    case "list":
      return respondList(parts, resourceRequest);
    case "watch":
      return respondWatch(parts, resourceRequest);
    case "create":
      return respondCreate(parts, resourceRequest);
    case "update":
      return respondUpdate(parts, resourceRequest);
    case "patch":
      return respondPatch(parts, resourceRequest);
    case "delete":
      return respondDelete(parts, resourceRequest);
    case "deletecollection":
      return respondDeleteCollection(parts, resourceRequest);
    default:
      throw methodNotAllowed();
  }
}

/**
 * Checks that namespaced objects are below a namespace, and others are not; only lists and watches may span namespaces.
 */
function checkPath({ tooDeep, namespace, name, verb }: RequestInfo, definition: ResourceDefinition): void {
  if (tooDeep) throw resourceNotFound();
  // The path of a namespace contains its name as namespace and as name.
  const isNamespace = definition.group === "" && definition.plural === "namespaces" && namespace === name;
  if (!definition.namespaced && namespace !== "" && !isNamespace) throw resourceNotFound();
  if (!definition.namespaced || namespace !== "") return;
  if (name !== "") throw resourceNotFound();
  if (verb !== "list" && verb !== "watch") throw methodNotAllowed();
}

function objectTargetOf(resourceRequest: AuthorizedRequest): ObjectTarget {
  if (resourceRequest.info.name === "") throw methodNotAllowed();
  return { ...targetOf(resourceRequest), name: resourceRequest.info.name };
}

function visibleObject(parts: ServerParts, resourceRequest: AuthorizedRequest, target: ObjectTarget): KubeObject {
  const object = staleObject(parts, resourceRequest, target) ?? parts.operations.get(target);
  if (visibilityFilter(resourceRequest)?.(object) === false) throw objectNotFound(target.definition, target.name);
  return object;
}

/** Writes to objects that the API root does not show fail with 404. */
function checkVisible(parts: ServerParts, resourceRequest: AuthorizedRequest, target: ObjectTarget): void {
  if (resourceRequest.apiRoot.visible === undefined) return;
  const { definition, logicalCluster, namespace = "", name } = target;
  const key = { storage: definition.storage, logicalCluster, namespace: definition.namespaced ? namespace : "", name };
  const object = parts.store.get(key);
  if (object !== undefined && visibilityFilter(resourceRequest)?.(object) === false)
    throw objectNotFound(definition, name);
}

function objectResponse(
  parts: ServerParts,
  resourceRequest: AuthorizedRequest,
  status: number,
  object: KubeObject | Status,
  { form, mediaType }: Representation,
): ApiResponse {
  const text = isKubeObject(object)
    ? objectText(resourceRequest.definition, object, form, viewOptions(parts, resourceRequest))
    : JSON.stringify(object);
  return textResponse(status, text, mediaType, warningHeaders(resourceRequest.warnings));
}

const isKubeObject = (object: KubeObject | Status): object is KubeObject =>
  object.kind !== undefined && object.kind !== "Status" && isFields(object.metadata);

function respondGet(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const representation = negotiate(resourceRequest.request.headers.accept);
  return objectResponse(
    parts,
    resourceRequest,
    200,
    visibleObject(parts, resourceRequest, objectTargetOf(resourceRequest)),
    representation,
  );
}

function respondList(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { request, definition, plan } = resourceRequest;
  const { form, mediaType } = negotiate(request.headers.accept, true);
  const options = parseListOptions(request.query, false);
  const isNew = (options.resourceVersion ?? "") === "" && (options.continue ?? "") === "";
  if (plan.expired && !isNew) throw expired("The resourceVersion for the provided list is too old.");
  const stale = staleRevision(parts, resourceRequest);
  const selection = {
    ...options,
    visible: visibilityFilter(resourceRequest),
    ...(stale === undefined || (options.continue ?? "") !== ""
      ? {}
      : { resourceVersion: String(stale), resourceVersionMatch: "Exact" }),
  };
  const list = parts.operations.list(targetOf(resourceRequest), selection);
  return textResponse(200, listText(definition, list, form, viewOptions(parts, resourceRequest)), mediaType);
}

type WriteRequest = Readonly<{ context: WriteContext; force: boolean }>;

function writeContextOf(
  { request, user, warnings }: AuthorizedRequest,
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions",
  isApply = false,
): WriteRequest {
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

const bodyOf = ({ request }: AuthorizedRequest): { body: string; contentType: string | undefined } => ({
  body: request.body,
  contentType: request.headers["content-type"],
});

const jsonBodyOf = ({ request }: AuthorizedRequest): string | undefined =>
  jsonBody(request.body, request.headers["content-type"]);

function respondCreate(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { request, definition, apiRoot, user } = resourceRequest;
  // A create has no name in the path.
  if (resourceRequest.info.name !== "") throw methodNotAllowed();
  const representation = negotiate(request.headers.accept);
  const { context } = writeContextOf(resourceRequest, "CreateOptions");
  const object = parseObject(apiRoot.catalog, definition, bodyOf(resourceRequest));
  const target = targetOf(resourceRequest);
  if (apiRoot.admit !== undefined) apiRoot.admit({ ...target, name: object.metadata.name ?? "" }, object, user);
  const created = parts.operations.create(target, object, { ...context, body: jsonBodyOf(resourceRequest) });
  return objectResponse(parts, resourceRequest, 201, created, representation);
}

function respondUpdate(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { request, definition, apiRoot, user, info } = resourceRequest;
  const target = objectTargetOf(resourceRequest);
  const representation = negotiate(request.headers.accept);
  const { context } = writeContextOf(resourceRequest, "UpdateOptions");
  const object =
    info.subresource === "scale"
      ? parseSubresourceBody(request.body, request.headers["content-type"])
      : parseObject(apiRoot.catalog, definition, bodyOf(resourceRequest));
  checkVisible(parts, resourceRequest, target);
  if (apiRoot.admit !== undefined) apiRoot.admit(target, object, user);
  const before = parts.store.revision;
  const updated = parts.operations.update(target, object, {
    ...context,
    body: jsonBodyOf(resourceRequest),
    ...(info.subresource === "" ? {} : { subresource: info.subresource }),
  });
  // A few types are created by an update; the log of changes shows whether this update created the object.
  const isCreated = updated.metadata.resourceVersion === String(before + 1) && isCreation(parts, target, updated);
  return objectResponse(parts, resourceRequest, isCreated ? 201 : 200, updated, representation);
}

function isCreation({ store }: ServerParts, { definition }: ObjectTarget, { metadata }: KubeObject): boolean {
  const revision = Number(metadata.resourceVersion);
  return store.changesSince(revision - 1, definition.storage)?.[0]?.type === "ADDED";
}

function respondPatch(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { request, definition, apiRoot, user, info } = resourceRequest;
  const target = objectTargetOf(resourceRequest);
  const representation = negotiate(request.headers.accept);
  const kind = patchKindOf(definition, request.headers["content-type"]);
  const { context, force } = writeContextOf(resourceRequest, "PatchOptions", kind === "apply");
  const patch = { kind, body: parsePatch(kind, request.body), force };
  const full = { ...context, ...(info.subresource === "" ? {} : { subresource: info.subresource }) };
  checkVisible(parts, resourceRequest, target);
  if (apiRoot.admit !== undefined) {
    apiRoot.admit(target, parts.operations.patch(target, patch, { ...full, dryRun: true }).object, user);
  }
  const { object, created } = parts.operations.patch(target, patch, full);
  return objectResponse(parts, resourceRequest, created ? 201 : 200, object, representation);
}

function respondDelete(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { request, user, apiRoot } = resourceRequest;
  const target = objectTargetOf(resourceRequest);
  const representation = negotiate(request.headers.accept);
  const body = parseDeleteBody(request.body, request.headers["content-type"]);
  const options = parseDeleteOptions(request.query, body);
  checkVisible(parts, resourceRequest, target);
  if (apiRoot.admit !== undefined) apiRoot.admit(target, parts.operations.get(target), user);
  const result = parts.operations.delete(target, options.request, { user, dryRun: options.dryRun });
  const isWaiting = isKubeObject(result) && result.metadata.deletionTimestamp !== undefined;
  const status = isWaiting && options.orphanDependents === false ? 202 : 200;
  return objectResponse(parts, resourceRequest, status, result, representation);
}

function respondDeleteCollection(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { request, user, definition } = resourceRequest;
  const { form, mediaType } = negotiate(request.headers.accept);
  const selection = { ...parseListOptions(request.query, false), visible: visibilityFilter(resourceRequest) };
  const body = parseDeleteBody(request.body, request.headers["content-type"]);
  const options = parseDeleteOptions(request.query, body);
  const list = parts.operations.deleteCollection(targetOf(resourceRequest), selection, options.request, {
    user,
    dryRun: options.dryRun,
  });
  return textResponse(200, listText(definition, list, form, viewOptions(parts, resourceRequest)), mediaType);
}

function respondSubresource(parts: ServerParts, resourceRequest: AuthorizedRequest): ApiResponse {
  const { info, definition } = resourceRequest;
  const isFinalize = info.subresource === "finalize" && definition.group === "" && definition.plural === "namespaces";
  const extra = definition.extraSubresources;
  const known = extra !== undefined && Object.hasOwn(extra, info.subresource) ? extra[info.subresource] : undefined;
  if (known !== undefined && !isFinalize) return respondExtraSubresource(parts, resourceRequest, known);
  const isServed =
    (info.subresource === "status" && definition.status) ||
    (info.subresource === "scale" && definition.scale !== undefined) ||
    isFinalize;
  if (!isServed) throw resourceNotFound();
  switch (info.verb) {
    case "get": {
      if (isFinalize) throw methodNotAllowed();
      const representation = negotiate(resourceRequest.request.headers.accept);
      const object = visibleObject(parts, resourceRequest, objectTargetOf(resourceRequest));
      return objectResponse(
        parts,
        resourceRequest,
        200,
        info.subresource === "scale" ? scaleOf(definition, object) : object,
        representation,
      );
    }
    case "update":
      return respondUpdate(parts, resourceRequest);
    case "patch":
      if (isFinalize) throw methodNotAllowed();
      return respondPatch(parts, resourceRequest);
    default:
      throw methodNotAllowed();
  }
}

function respondExtraSubresource(
  parts: ServerParts,
  resourceRequest: AuthorizedRequest,
  subresource: Subresource,
): ApiResponse {
  const { info, request, apiRoot, user } = resourceRequest;
  const verb: Verb | undefined = subresource.verbs.find((name) => name === info.verb);
  if (verb === undefined) throw methodNotAllowed();
  const representation = negotiate(request.headers.accept);
  const parent = visibleObject(parts, resourceRequest, objectTargetOf(resourceRequest));
  const body = verb === "get" ? undefined : parseSubresourceBody(request.body, request.headers["content-type"]);
  const result = subresource.handle(
    { verb, parent, ...(body === undefined ? {} : { body }) },
    { logicalCluster: apiRoot.logicalCluster, user, operations: parts.operations, now: parts.clock.now() },
  );
  if (typeof result === "string") return plainResponse(200, result);
  return objectResponse(parts, resourceRequest, verb === "create" ? 201 : 200, result, representation);
}

/** The revision of an injected stale read, at most as old as the history; undefined without such a fault. */
function staleRevision({ store }: ServerParts, { plan }: AuthorizedRequest): number | undefined {
  if (plan.revisionsBack <= 0) return undefined;
  return Math.max(1, store.oldestRevision, store.revision - plan.revisionsBack);
}

/** The object as an injected stale read sees it; undefined without such a fault or if the revision is compacted. */
function staleObject(
  parts: ServerParts,
  resourceRequest: AuthorizedRequest,
  target: ObjectTarget,
): KubeObject | undefined {
  const revision = staleRevision(parts, resourceRequest);
  if (revision === undefined) return undefined;
  const { definition, logicalCluster, namespace, name } = target;
  const scope = { logicalCluster, ...(namespace === undefined ? {} : { namespace }) };
  const objects = parts.store.listAt(revision, definition.storage, scope);
  if (objects === undefined) return undefined;
  const object = objects.find(({ metadata }) => metadata.name === name);
  if (object === undefined) throw objectNotFound(definition, name);
  return toServedVersion(definition, object);
}
