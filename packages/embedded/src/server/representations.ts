import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { type DumpOptions, dump } from "js-yaml";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { toTable } from "../definitions/table.ts";
import { ApiFailure } from "../machinery/api-errors.ts";
import { freezeJson, jsonText } from "../storage/frozen-json.ts";
import type { ApiResponse } from "./http.ts";

/** The form and media type of a response. */
export type Representation = Readonly<{
  form: "object" | "partial" | "table";
  mediaType: "application/json" | "application/yaml";
}>;

const available = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const streamed = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
const metaVersions = new Set(["v1", "v1beta1"]);

/** Negotiates the Accept header: the first supported clause wins. Throws 406 if there is none. */
export function negotiate(accept: string | undefined, isCollection = false): Representation {
  if (accept === undefined || accept.trim() === "") return { form: "object", mediaType: "application/json" };
  let anyType = false;
  for (const clause of accept.split(",")) {
    const [type = "", ...rest] = clause.split(";").map((part) => part.trim());
    const parameters = new Map(rest.map((part) => [part.split("=")[0] ?? "", part.split("=")[1] ?? ""]));
    const mediaType = mediaTypes[type.toLowerCase()];
    if (mediaType === undefined) {
      anyType ||= type === "application/vnd.kubernetes.protobuf";
      continue;
    }
    anyType = true;
    const form = formOf(parameters);
    if (form !== undefined) return { form, mediaType };
  }
  if (anyType) throw new ApiFailure(406, "NotAcceptable", `only the following media types are accepted: ${available}`);
  const all = isCollection ? `${available}, ${streamed}` : available;
  throw new ApiFailure(406, "NotAcceptable", `406: Not Acceptable\n\nAvailable representations: ${all}`, {});
}

const mediaTypes: Readonly<Record<string, Representation["mediaType"] | undefined>> = {
  "application/json": "application/json",
  "application/yaml": "application/yaml",
  "application/*": "application/json",
  "*/*": "application/json",
};

function formOf(parameters: ReadonlyMap<string, string>): Representation["form"] | undefined {
  const as = parameters.get("as");
  if (as === undefined) return "object";
  if (parameters.get("g") !== "meta.k8s.io" || !metaVersions.has(parameters.get("v") ?? "")) return undefined;
  if (as === "Table") return "table";
  return as === "PartialObjectMetadata" || as === "PartialObjectMetadataList" ? "partial" : undefined;
}

export type ViewOptions = Readonly<{ now: number; includeObject: string | null; withoutColumns?: boolean }>;

/** Renders an object in the negotiated form. */
export function objectText(
  definition: ResourceDefinition,
  object: KubeObject,
  form: Representation["form"],
  options: ViewOptions,
): string {
  if (form === "object") return jsonText(object);
  if (form === "partial") return jsonText(partial(object));
  const { resourceVersion } = object.metadata;
  return tableText(definition, [object], resourceVersion === undefined ? {} : { resourceVersion }, options);
}

/** Renders a list in the negotiated form. */
export function listText(
  definition: ResourceDefinition,
  list: KubeList,
  form: Representation["form"],
  options: ViewOptions,
): string {
  if (form === "table") return tableText(definition, list.items, list.metadata, options);
  const isPartial = form === "partial";
  const kind = isPartial ? "PartialObjectMetadataList" : list.kind;
  const apiVersion = isPartial ? "meta.k8s.io/v1" : list.apiVersion;
  // Items of built-in lists have no apiVersion and kind; those of custom types do.
  const item = isPartial
    ? (object: KubeObject): string => jsonText(partial(object))
    : definition.flavor === "builtin"
      ? untypedText
      : jsonText;
  const head = `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;
  // Lists of custom types always have `continue`.
  const metadata = !isPartial && definition.flavor !== "builtin" ? { continue: "", ...list.metadata } : list.metadata;
  return `${head},"metadata":${JSON.stringify(metadata)},"items":[${list.items.map(item).join(",")}]}`;
}

function tableText(
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  listMeta: KubeList["metadata"],
  { now, includeObject, withoutColumns = false }: ViewOptions,
): string {
  const include = includeObject === "None" || includeObject === "Object" ? includeObject : "Metadata";
  return JSON.stringify(toTable(definition, objects, { now, includeObject: include, listMeta, withoutColumns }));
}

const partials = new WeakMap<KubeObject, KubeObject>();

function partial(object: KubeObject): KubeObject {
  const known = partials.get(object);
  if (known !== undefined) return known;
  const copy: KubeObject = freezeJson({
    kind: "PartialObjectMetadata",
    apiVersion: "meta.k8s.io/v1",
    metadata: object.metadata,
  });
  partials.set(object, copy);
  return copy;
}

function untypedText(object: KubeObject): string {
  const text = jsonText(object);
  const head = `{"apiVersion":${JSON.stringify(object.apiVersion)},"kind":${JSON.stringify(object.kind)},`;
  if (text.startsWith(head)) return `{${text.slice(head.length)}`;
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return JSON.stringify(rest);
}

/** The YAML style of a real server. */
const yamlStyle: DumpOptions = { sortKeys: true, lineWidth: -1, seqNoIndent: true, quoteStyle: "double" };
const fixedHeaders = { "cache-control": "no-cache, private" };

/** Creates a response from JSON, converted to YAML if negotiated. */
export function textResponse(
  status: number,
  text: string,
  mediaType: Representation["mediaType"],
  headers: Readonly<Record<string, string>> = {},
): ApiResponse {
  const body = mediaType === "application/yaml" ? dump(JSON.parse(text), yamlStyle) : text;
  return { status, headers: { ...fixedHeaders, "content-type": mediaType, ...headers }, body };
}

export function warningHeaders(warnings: readonly string[]): Readonly<Record<string, string>> {
  if (warnings.length === 0) return {};
  return { warning: warnings.map((text) => `299 - "${text.replaceAll(/["\\]/g, "\\$&")}"`).join(", ") };
}

/** Creates the response of a failed request. */
export function failureResponse(failure: ApiFailure, warnings: readonly string[] = []): ApiResponse {
  const { retryAfterSeconds, status } = failure;
  return textResponse(status.code, JSON.stringify(status), "application/json", {
    ...(retryAfterSeconds === undefined ? {} : { "retry-after": String(retryAfterSeconds) }),
    ...warningHeaders(warnings),
  });
}

export const plainResponse = (status: number, body: string): ApiResponse => ({
  status,
  headers: { ...fixedHeaders, "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" },
  body,
});

/** The response for a path that no part of the server handles. */
export const pageNotFound = (): ApiResponse => plainResponse(404, "404 page not found\n");
