import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { JSON_SCHEMA, load } from "js-yaml";
import { badRequest, invalidObject, unsupportedMediaType } from "./api-errors.ts";
import { ApiFailure } from "./api-failure.ts";
import type { Catalog, ResourceDefinition } from "./definition.ts";
import { duplicateFields } from "./duplicate-fields.ts";
import { cloneJson } from "./frozen-json.ts";
import { invalid } from "./machinery/field-error.ts";
import { typeOfGo } from "./machinery/go-text.ts";
import { type Fields, isObject } from "./machinery/json-value.ts";
import type { PatchKind } from "./operations.ts";
import { apiVersionOf } from "./selection.ts";

/** The most that a request's body may have, as in a real server. */
export const maxBodyBytes = 3 * 1024 * 1024;

const acceptedTypes = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

const mediaTypeOf = (contentType: string | undefined): string =>
  (contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "";

/** 413 for a body that is too large. */
export const tooLargeBody = (): ApiFailure =>
  new ApiFailure(413, "RequestEntityTooLarge", `Request entity too large: limit is ${maxBodyBytes}`);

/** Reads the JSON or YAML of a body; `describe` words what is wrong with it. */
function parseBody(body: string, contentType: string | undefined, describe: (why: string) => string): unknown {
  // What comes without a type is taken for JSON.
  const type = mediaTypeOf(contentType) || "application/json";
  if (type === "application/yaml") {
    try {
      return load(body, { schema: JSON_SCHEMA }) ?? null;
    } catch (error) {
      throw badRequest(describe(`yaml: ${firstLine(error)}`));
    }
  }
  // Protobuf has been turned into JSON where it came in.
  if (type !== "application/json") throw unsupportedMediaType(acceptedTypes);
  try {
    return JSON.parse(body);
  } catch (error) {
    throw badRequest(describe(`json parse error: ${goSyntaxError(body, error)}`));
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "";

/** What V8 says of a place in a JSON text, and what Go says. */
const syntaxPlaces: readonly (readonly [v8: string, go: string])[] = [
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
  const where = syntaxPlaces.find(([words]) => message.includes(words))?.[1] ?? "looking for beginning of value";
  return `invalid character '${character}' ${where}`;
}

/** Reads an object that is to be created or to replace another. */
export function parseObject(
  catalog: Catalog,
  definition: ResourceDefinition,
  { body, contentType }: Readonly<{ body: string; contentType: string | undefined }>,
): KubeObject {
  const shown = body.startsWith("{") ? body : body === "" ? "<empty>" : Buffer.from(body).toString("hex");
  const unrecognised = (why: string): string =>
    `the object provided is unrecognized (must be of type ${definition.kind}): ${why} (${shown})`;
  const value = parseBody(body, contentType, (why) =>
    unrecognised(why.startsWith("yaml:") ? why : `couldn't get version/kind; ${why}`),
  );
  if (!isObject(value)) {
    const structure =
      'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';
    const why = `json: cannot unmarshal ${typeOfGo(value)} into Go value of type ${structure}`;
    throw badRequest(unrecognised(`couldn't get version/kind; json parse error: ${why}`));
  }
  checkType(catalog, definition, value, (why) => badRequest(unrecognised(why)), body);
  return asObject(definition, value);
}

function asObject(definition: ResourceDefinition, value: Fields): KubeObject {
  const { metadata } = value;
  return {
    ...value,
    apiVersion: apiVersionOf(definition),
    kind: definition.kind,
    metadata: isObject(metadata) ? cloneJson(metadata) : {},
  };
}

function checkType(
  catalog: Catalog,
  definition: ResourceDefinition,
  value: Fields,
  unrecognised: (why: string) => ApiFailure,
  body: string,
): void {
  const kind = typeof value.kind === "string" ? value.kind : "";
  const apiVersion = typeof value.apiVersion === "string" ? value.apiVersion : "";
  const expected = apiVersionOf(definition);
  if (definition.flavour === "builtin") {
    // What a body leaves out is taken from the URL.
    const isSameVersion = apiVersion === "" || apiVersion === expected;
    if (isSameVersion && (kind === "" || kind === definition.kind)) return;
    const version = (apiVersion === "" ? expected : apiVersion).split("/").at(-1) ?? "";
    const named = kind === "" ? definition.kind : kind;
    const isKnown = catalog
      .definitions()
      .some((other) => other.kind === named && apiVersionOf(other) === (apiVersion === "" ? expected : apiVersion));
    const internal = definition.group === "" ? "core" : (definition.group.split(".")[0] ?? "");
    const why = isKnown
      ? `converting (${version}.${named}) to (${internal}.${definition.kind}): unknown conversion`
      : `no kind "${named}" is registered for version "${apiVersion === "" ? expected : apiVersion}" in scheme "pkg/runtime/scheme.go:111"`;
    throw badRequest(`${named} in version "${version}" cannot be handled as a ${definition.kind}: ${why}`);
  }
  if (kind === "") throw unrecognised(`Object 'Kind' is missing in '${body}'`);
  if (apiVersion === "") throw unrecognised(`Object 'apiVersion' is missing in '${body}'`);
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${apiVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (kind !== definition.kind) {
    const { metadata } = value;
    const name = isObject(metadata) && typeof metadata.name === "string" ? metadata.name : "";
    const errors = [invalid("kind", kind, `must be ${definition.kind}`)];
    throw invalidObject({ group: definition.group, kind }, name, errors);
  }
}

/** Reads a body of another kind than the resource's own: a Scale, an Eviction, a token request. */
export function parseOther(body: string, contentType: string | undefined): KubeObject {
  const value = body === "" ? {} : parseBody(body, contentType, (why) => `the object provided is unrecognized: ${why}`);
  if (!isObject(value)) throw badRequest("the object provided is unrecognized");
  const { apiVersion, kind, metadata } = value;
  return {
    ...value,
    apiVersion: typeof apiVersion === "string" ? apiVersion : "",
    kind: typeof kind === "string" ? kind : "",
    metadata: isObject(metadata) ? cloneJson(metadata) : {},
  };
}

/** The text of a JSON body; of no other is anything told but what it says. */
export const jsonBody = (body: string, contentType: string | undefined): string | undefined =>
  mediaTypeOf(contentType) === "application/json" ? body : undefined;

/** Reads the options in a deletion's body; undefined where it has none. */
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

/** Which kind of patch a content type names, for a type that takes it; throws 415 for all others. */
export function patchKindOf({ flavour }: ResourceDefinition, contentType: string | undefined): PatchKind {
  const kind = patchKinds[mediaTypeOf(contentType)];
  if (kind !== undefined && (kind !== "strategic" || flavour !== "custom")) return kind;
  // Built-in types are refused by the router, which knows no better words.
  if (flavour === "builtin") throw new ApiFailure(415, "UnsupportedMediaType", "415: Unsupported Media Type", {});
  const accepted = Object.keys(patchKinds).filter((type) => flavour !== "custom" || patchKinds[type] !== "strategic");
  throw unsupportedMediaType(accepted);
}

/** What most clients apply is JSON, which is YAML that is read faster; undefined where only YAML can tell what it says. */
function plainJson(body: string): unknown {
  if (!body.startsWith("{")) return undefined;
  try {
    const value: unknown = JSON.parse(body);
    return duplicateFields(body).length === 0 ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Reads a patch's body. */
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
  if (isObject(value)) return value;
  const why = `json: cannot unmarshal ${typeOfGo(value)} into Go value of type map[string]interface {}`;
  throw badRequest(`error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`);
}
