import { type Fields, isFields } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { JSON_SCHEMA, load } from "js-yaml";
import type { Catalog, ResourceDefinition } from "../definitions/definition.ts";
import { ApiFailure, badRequest, invalidObject, unsupportedMediaType } from "../machinery/api-errors.ts";
import { invalid } from "../machinery/field-error.ts";
import { goJsonType } from "../machinery/go-text.ts";
import { duplicateFields } from "../storage/duplicate-fields.ts";
import { cloneJson } from "../storage/frozen-json.ts";
import type { PatchKind } from "../storage/operations.ts";
import { servedApiVersion } from "../storage/selection.ts";

/** Limit of a request body, as in a real server. */
export const maxBodyBytes = 3 * 1024 * 1024;

const acceptedTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

export const tooLargeBody = (): ApiFailure =>
  new ApiFailure(413, "RequestEntityTooLarge", `Request entity too large: limit is ${maxBodyBytes}`);

/** Parses JSON or YAML; `describe` creates the error message. */
function parseBody(body: string, contentType: string | undefined, describe: (why: string) => string): unknown {
  // Without a content type, JSON is assumed.
  const type = mediaTypeOf(contentType) || "application/json";
  if (type === "application/yaml") {
    try {
      return load(body, { schema: JSON_SCHEMA }) ?? null;
    } catch (error) {
      throw badRequest(describe(`yaml: ${firstLine(error)}`));
    }
  }
  // The listener has converted protobuf to JSON.
  if (type !== "application/json") throw unsupportedMediaType(acceptedTypes);
  try {
    return JSON.parse(body);
  } catch (error) {
    throw badRequest(describe(`json parse error: ${goSyntaxError(body, error)}`));
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";

/** Go's descriptions of JSON syntax errors for those of V8. */
const syntaxContexts: readonly (readonly [v8: string, go: string])[] = [
  ["Expected property name", "looking for beginning of object key string"],
  ["Expected double-quoted property name", "looking for beginning of object key string"],
  ["Expected ':'", "after object key"],
  ["Expected ',' or '}'", "after object key:value pair"],
  ["Expected ',' or ']'", "after array element"],
  ["after JSON", "after top-level value"],
];

function goSyntaxError(body: string, error: unknown): string {
  const message = error instanceof Error ? error.message : "";
  const at = /at position (\d+)/.exec(message)?.[1];
  const character = at === undefined ? undefined : body[Number(at)];
  if (character === undefined || body.trim() === "") return "unexpected end of JSON input";
  const where = syntaxContexts.find(([v8]) => message.includes(v8))?.[1] ?? "looking for beginning of value";
  return `invalid character '${character}' ${where}`;
}

/** Parses the object of a create or update. */
export function parseObject(
  catalog: Catalog,
  definition: ResourceDefinition,
  { body, contentType }: Readonly<{ body: string; contentType: string | undefined }>,
): KubeObject {
  const shown = body.startsWith("{") ? body : body === "" ? "<empty>" : Buffer.from(body).toString("hex");
  const unrecognized = (why: string): string =>
    `the object provided is unrecognized (must be of type ${definition.kind}): ${why} (${shown})`;
  const value = parseBody(body, contentType, (why) =>
    unrecognized(why.startsWith("yaml:") ? why : `couldn't get version/kind; ${why}`),
  );
  if (!isFields(value)) {
    const structure =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const why = `json: cannot unmarshal ${goJsonType(value)} into Go value of type ${structure}`;
    throw badRequest(unrecognized(`couldn't get version/kind; json parse error: ${why}`));
  }
  checkType(catalog, definition, value, (why) => badRequest(unrecognized(why)), body);
  return asObject(definition, value);
}

function asObject(definition: ResourceDefinition, value: Fields): KubeObject {
  const { metadata } = value;
  return {
    ...value,
    apiVersion: servedApiVersion(definition),
    kind: definition.kind,
    metadata: isFields(metadata) ? cloneJson(metadata) : {},
  };
}

function checkType(
  catalog: Catalog,
  definition: ResourceDefinition,
  value: Fields,
  unrecognized: (why: string) => ApiFailure,
  body: string,
): void {
  const kind = typeof value.kind === "string" ? value.kind : "";
  const apiVersion = typeof value.apiVersion === "string" ? value.apiVersion : "";
  const expected = servedApiVersion(definition);
  if (definition.flavor === "builtin") {
    // Missing apiVersion and kind are taken from the URL.
    const isSameVersion = apiVersion === "" || apiVersion === expected;
    if (isSameVersion && (kind === "" || kind === definition.kind)) return;
    const version = (apiVersion === "" ? expected : apiVersion).split("/").at(-1) ?? "";
    const named = kind === "" ? definition.kind : kind;
    const isKnown = catalog
      .definitions()
      .some((other) => other.kind === named && servedApiVersion(other) === (apiVersion === "" ? expected : apiVersion));
    const internal = definition.group === "" ? "core" : (definition.group.split(".")[0] ?? "");
    const why = isKnown
      ? `converting (${version}.${named}) to (${internal}.${definition.kind}): unknown conversion`
      : `no kind "${named}" is registered for version "${apiVersion === "" ? expected : apiVersion}" in scheme "pkg/runtime/scheme.go:111"`;
    throw badRequest(`${named} in version "${version}" cannot be handled as a ${definition.kind}: ${why}`);
  }
  if (kind === "") throw unrecognized(`Object 'Kind' is missing in '${body}'`);
  if (apiVersion === "") throw unrecognized(`Object 'apiVersion' is missing in '${body}'`);
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (kind !== definition.kind) {
    const { metadata } = value;
    const name = isFields(metadata) && typeof metadata.name === "string" ? metadata.name : "";
    const errors = [invalid("kind", kind, `must be ${definition.kind}`)];
    throw invalidObject({ group: definition.group, kind }, name, errors);
  }
}

/** Parses a body of a subresource's own kind: a Scale, an Eviction, a TokenRequest. */
export function parseSubresourceBody(body: string, contentType: string | undefined): KubeObject {
  const value = body === "" ? {} : parseBody(body, contentType, (why) => `the object provided is unrecognized: ${why}`);
  if (!isFields(value)) throw badRequest("the object provided is unrecognized");
  const { apiVersion, kind, metadata } = value;
  return {
    ...value,
    apiVersion: typeof apiVersion === "string" ? apiVersion : "",
    kind: typeof kind === "string" ? kind : "",
    metadata: isFields(metadata) ? cloneJson(metadata) : {},
  };
}

/** The text of a JSON body, for positions of fields; undefined for other media types. */
export const jsonBody = (body: string, contentType: string | undefined): string | undefined =>
  mediaTypeOf(contentType) === "application/json" ? body : undefined;

/** Parses the DeleteOptions in a body; undefined if there is none. */
export function parseDeleteBody(body: string, contentType: string | undefined): unknown {
  if (body === "") return undefined;
  return parseBody(body, contentType, (why) => `couldn't get version/kind; ${why}`);
}

const patchKinds: Readonly<Record<string, PatchKind | undefined>> = {
  "application/json-patch+json": "json",
  "application/merge-patch+json": "merge",
  "application/strategic-merge-patch+json": "strategic",
  "application/apply-patch+yaml": "apply",
};

/** The kind of patch for a content type; throws 415 if the type does not support it. */
export function patchKindOf({ flavor }: ResourceDefinition, contentType: string | undefined): PatchKind {
  const kind = patchKinds[mediaTypeOf(contentType)];
  if (kind !== undefined && (kind !== "strategic" || flavor !== "custom")) return kind;
  // For built-in types the router rejects the request, with its own message.
  if (flavor === "builtin") throw new ApiFailure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
  const accepted = Object.keys(patchKinds).filter((type) => flavor !== "custom" || patchKinds[type] !== "strategic");
  throw unsupportedMediaType(accepted);
}

/**
 * Most clients apply JSON, which parses faster than YAML. Returns undefined if only YAML can decide, as for duplicate
 * keys.
 */
function plainJson(body: string): unknown {
  if (!body.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return duplicateFields(body).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

export function parsePatch(kind: PatchKind, body: string): unknown {
  if (kind !== "apply") {
    try {
      return JSON.parse(body);
    } catch (error) {
      throw badRequest(`error decoding patch: ${goSyntaxError(body, error)}`);
    }
  }
  let value: unknown;
  try {
    value = plainJson(body) ?? load(body, { schema: JSON_SCHEMA }) ?? {};
  } catch (error) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: yaml: ${firstLine(error)}`);
  }
  if (isFields(value)) return value;
  const why = `json: cannot unmarshal ${goJsonType(value)} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}
