import { createHash } from "node:crypto";
import { byKey } from "@tmc/kube/compare.ts";
import {
  componentName,
  type GeneratedSchema,
  generatedSchema,
  hasGeneratedSchema,
  isGeneratedSchema,
  objectMetaName,
} from "../builtin/schemas.ts";
import type { Schema } from "../machinery/schema.ts";
import type { Catalog, ResourceDefinition } from "./definition.ts";

export type OpenApiDocument = Readonly<{ contentType: string; body: string }>;

type Doc = { [key: string]: unknown };

/**
 * Responds to `/openapi/v3` and its documents, one per group and version; undefined for other paths. The documents
 * contain what kubectl uses: schemas for `explain`, and the patch types and parameters of each type.
 */
export function respondOpenApi(catalog: Catalog, path: string, accept = ""): OpenApiDocument | undefined {
  if (path === "/openapi/v2") return openApiV2Document(accept);
  const match = /^\/openapi\/v3(?:\/(api|apis\/[^/]+)\/([^/]+))?\/?$/.exec(path);
  if (match === null) return undefined;
  const [, root, version] = match;
  const documents = Map.groupBy(catalog.definitions(), documentPath);
  if (root === undefined) {
    const paths = [...documents]
      .toSorted(byKey)
      .map(([name, members]) => [name, { serverRelativeURL: `/openapi/v3/${name}?hash=${documentHash(members)}` }]);
    return json(JSON.stringify({ paths: Object.fromEntries(paths) }));
  }
  const members = documents.get(`${root}/${version}`);
  return members === undefined ? undefined : json(documentText(members));
}

/**
 * An empty OpenAPI v2 document. Clients that find no type in it leave validation to the server, which is all kubectl
 * needs. kubectl asks for protobuf; this document is short enough to encode by hand.
 */
function openApiV2Document(accept: string): OpenApiDocument {
  const title = "Kubernetes";
  if (!accept.includes("protobuf")) return json(JSON.stringify({ swagger: "2.0", info: { title }, paths: {} }));
  const field = (number: number, value: string): string => String.fromCharCode(number * 8 + 2, value.length) + value;
  const body = field(1, "2.0") + field(2, field(1, title)) + field(8, "");
  return { contentType: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", body };
}

const json = (body: string): OpenApiDocument => ({ contentType: "application/json", body });

function documentPath({ group, version }: ResourceDefinition): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

const fingerprints = new WeakMap<ResourceDefinition, string>();

/** Clients cache a document under its hash forever, so the hash covers everything that the document is built from. */
function documentHash(members: readonly ResourceDefinition[]): string {
  const parts = members.map((definition) => {
    let fingerprint = fingerprints.get(definition);
    if (fingerprint === undefined) {
      const { group, version, plural, kind, namespaced, verbs, status, flavor } = definition;
      // Built-in schemas do not change during the life of the process.
      const schema = flavor === "builtin" ? "" : definition.schema;
      fingerprint = JSON.stringify([group, version, plural, kind, namespaced, verbs, status, flavor, schema]);
      fingerprints.set(definition, fingerprint);
    }
    return fingerprint;
  });
  return createHash("sha512").update(parts.join("\n")).digest("hex").toUpperCase();
}

/** Enough for a server with a few workspaces; further documents are rebuilt on request. */
const maxCachedDocuments = 64;
const documentTexts = new Map<string, string>();

function documentText(members: readonly ResourceDefinition[]): string {
  const hash = documentHash(members);
  const known = documentTexts.get(hash);
  if (known !== undefined) return known;
  const text = JSON.stringify(describeDocument(members));
  const oldest = documentTexts.keys().next();
  if (documentTexts.size >= maxCachedDocuments && oldest.done !== true) documentTexts.delete(oldest.value);
  documentTexts.set(hash, text);
  return text;
}

function describeDocument(members: readonly ResourceDefinition[]): Doc {
  const schemas = new Map<string, Doc>();
  for (const definition of members) {
    const name = nameOf(definition);
    if (definition.flavor === "builtin" && hasGeneratedSchema(name)) addGeneratedSchema(schemas, name);
    else {
      schemas.set(name, describeCustom(definition));
      addGeneratedSchema(schemas, objectMetaName);
    }
    if (definition.scale !== undefined) addGeneratedSchema(schemas, componentName("autoscaling", "v1", "Scale"));
    for (const { group, version, kind } of Object.values(definition.extraSubresources ?? {})) {
      const responseName = componentName(group ?? definition.group, version ?? definition.version, kind);
      if (hasGeneratedSchema(responseName)) addGeneratedSchema(schemas, responseName);
    }
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "v1.36.3" },
    paths: Object.fromEntries(members.flatMap(describePaths)),
    components: { schemas: Object.fromEntries([...schemas].toSorted(byKey)) },
  };
}

function nameOf({ flavor, group, version, kind }: ResourceDefinition): string {
  if (flavor === "builtin") return componentName(group, version, kind);
  return [...group.split(".").toReversed(), version, kind].filter((part) => part !== "").join(".");
}

function addGeneratedSchema(schemas: Map<string, Doc>, name: string): void {
  if (schemas.has(name)) return;
  const written = generatedSchema(name);
  const references: string[] = [];
  schemas.set(name, toPublishedSchema(written, references));
  for (const reference of references) addGeneratedSchema(schemas, reference);
}

/** Converts a generated schema to its published form. */
function toPublishedSchema(written: GeneratedSchema, references: string[]): Doc {
  const { $ref, ...own } = written;
  const result: Doc = {};
  for (const [key, value] of Object.entries(own)) {
    if (key === "properties" && isGeneratedSchema(value)) {
      result[key] = Object.fromEntries(
        Object.entries(value).map(([name, child]) => [
          name,
          isGeneratedSchema(child) ? toPublishedSchema(child, references) : child,
        ]),
      );
    } else if ((key === "items" || key === "additionalProperties") && isGeneratedSchema(value)) {
      result[key] = toPublishedSchema(value, references);
    } else result[key] = value;
  }
  if (typeof $ref === "string") {
    references.push($ref);
    const reference = { $ref: `#/components/schemas/${$ref}` };
    return Object.keys(result).length === 0 ? reference : { ...result, allOf: [reference] };
  }
  if (result["x-kubernetes-int-or-string"] === true)
    return { description: result.description, ...alternatives(result) };
  return result;
}

function alternatives({ format }: Doc): Doc {
  if (format === "quantity") return { oneOf: [{ type: "string" }, { type: "number" }] };
  return { format: "int-or-string", oneOf: [{ type: "integer" }, { type: "string" }] };
}

/** Adds apiVersion, kind and metadata to a custom type's schema, as real servers do. */
function describeCustom(definition: ResourceDefinition): Doc {
  const { group, version, kind } = definition;
  const schema: Schema = definition.schema;
  const text = (description: string) => ({ type: "string", description });
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: text(
        "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources",
      ),
      kind: text(
        "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds",
      ),
      metadata: {
        description:
          "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
        allOf: [{ $ref: `#/components/schemas/${objectMetaName}` }],
      },
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind }],
  };
}

function describePaths(definition: ResourceDefinition): [string, Doc][] {
  const { group, version, plural, namespaced, verbs, status, scale } = definition;
  const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const collection = namespaced ? `${base}/namespaces/{namespace}/${plural}` : `${base}/${plural}`;
  const schema = `#/components/schemas/${nameOf(definition)}`;
  const own = { group, version, kind: definition.kind };
  const item = `${collection}/{name}`;
  const paths: [string, Doc][] = [
    [
      collection,
      operations(definition, schema, own, [
        ["get", verbs.includes("list") ? "list" : undefined],
        ["post", verbs.includes("create") ? "post" : undefined],
        ["delete", verbs.includes("deletecollection") ? "deletecollection" : undefined],
      ]),
    ],
  ];
  if (verbs.includes("get")) {
    paths.push([
      item,
      operations(definition, schema, own, [
        ["get", "get"],
        ["put", verbs.includes("update") ? "put" : undefined],
        ["patch", verbs.includes("patch") ? "patch" : undefined],
        ["delete", verbs.includes("delete") ? "delete" : undefined],
      ]),
    ]);
  }
  if (namespaced && verbs.includes("list")) {
    paths.push([`${base}/${plural}`, operations(definition, schema, own, [["get", "list"]])]);
  }
  const changes: readonly Operation[] = [
    ["get", "get"],
    ["put", "put"],
    ["patch", "patch"],
  ];
  if (status) paths.push([`${item}/status`, operations(definition, schema, own, changes)]);
  if (scale !== undefined) {
    const kind = { group: "autoscaling", version: "v1", kind: "Scale" };
    const scaleSchema = `#/components/schemas/${componentName("autoscaling", "v1", "Scale")}`;
    paths.push([`${item}/scale`, operations(definition, scaleSchema, kind, changes)]);
  }
  return paths;
}

type Operation = readonly [method: string, action: string | undefined];
type Kind = Readonly<{ group: string; version: string; kind: string }>;

const query = (name: string, type = "string") => ({ name, in: "query", schema: { type, uniqueItems: true } });
const writeParameters = ["dryRun", "fieldManager", "fieldValidation"].map((name) => query(name));

function operations(definition: ResourceDefinition, schema: string, kind: Kind, actions: readonly Operation[]): Doc {
  const present = actions.filter(([, action]) => action !== undefined);
  return Object.fromEntries(
    present.map(([method, action]) => [
      method,
      {
        ...requestBodyOf(definition, method, schema),
        responses: {
          200: { description: "OK", content: { "application/json": { schema: { $ref: schema } } } },
          401: { description: "Unauthorized" },
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": kind,
      },
    ]),
  );
}

function requestBodyOf(definition: ResourceDefinition, method: string, schema: string): Doc {
  if (method === "patch") {
    const types = [
      "application/apply-patch+yaml",
      "application/json-patch+json",
      "application/merge-patch+json",
      ...(definition.flavor === "builtin" ? ["application/strategic-merge-patch+json"] : []),
    ];
    const content = Object.fromEntries(types.map((type) => [type, { schema: { type: "object" } }]));
    return { parameters: [...writeParameters, query("force", "boolean")], requestBody: { content, required: true } };
  }
  if (method !== "post" && method !== "put") return {};
  return {
    parameters: writeParameters,
    requestBody: { content: { "*/*": { schema: { $ref: schema } } }, required: true },
  };
}
