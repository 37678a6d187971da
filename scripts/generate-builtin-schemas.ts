/**
 * Generates the data about the built-in types of Kubernetes that the embedded servers use, from a real kube-apiserver:
 *
 *   node scripts/generate-builtin-schemas.ts --server https://127.0.0.1:6443 --ca ca.crt --cert admin.crt --key admin.key
 *
 * or with `--token` instead of a certificate. With `--go-modules ~/go/pkg/mod/k8s.io` and `--go-version v0.36.3` it also generates
 * the protobuf encoding of the same types, from the Go sources of the Kubernetes API. Run it for a new Kubernetes version and
 * commit the generated files.
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { clusterTypes, commonTypes, subresourceKinds } from "@tmc/embedded/builtin/served-types.ts";

type JsonObject = { [key: string]: unknown };

const { values: flags } = parseArgs({
  options: {
    server: { type: "string" },
    ca: { type: "string" },
    cert: { type: "string" },
    key: { type: "string" },
    token: { type: "string" },
    "go-modules": { type: "string" },
    "go-version": { type: "string" },
  },
});

const agent = new Agent({
  keepAlive: true,
  ...(flags.ca === undefined ? {} : { ca: readFileSync(flags.ca) }),
  ...(flags.cert === undefined ? {} : { cert: readFileSync(flags.cert) }),
  ...(flags.key === undefined ? {} : { key: readFileSync(flags.key) }),
});

const resources = await readResources();
const schemas = await readSchemas();
writeGenerated("resources", resources);
// Each schema is stored as text, so that starting a server does not parse schemas of types that are never requested.
writeGenerated("schemas", Object.fromEntries([...schemas].map(([name, schema]) => [name, JSON.stringify(schema)])));
const goModules = flags["go-modules"];
if (goModules !== undefined) writeGenerated("messages", readMessages(goModules, flags["go-version"] ?? ""));
writeGenerated("bootstrap-roles", await readBootstrapRoles());
agent.destroy();

/** Names, verbs and table columns of every served type, by `group/version/plural`. */
async function readResources(): Promise<JsonObject> {
  const found: JsonObject = {};
  const discoveryAccept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const tableAccept = "application/json;as=Table;g=meta.k8s.io;v=v1";
  const groups = [
    ...objects((await get("/api", discoveryAccept)).items),
    ...objects((await get("/apis", discoveryAccept)).items),
  ];
  for (const type of [...commonTypes, ...clusterTypes]) {
    const [group = "", version = "", plural = ""] = type.split("/");
    const described = groups
      .filter((item) => (object(item.metadata).name ?? "") === group)
      .flatMap((item) => objects(item.versions).filter((served) => served.version === version))
      .flatMap((served) => objects(served.resources))
      .find((resource) => resource.resource === plural);
    if (described === undefined) throw new Error(`generate: the server does not serve ${type}`);
    const verbs = strings(described.verbs);
    const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const columns = verbs.includes("list")
      ? objects((await get(`${base}/${plural}?limit=1`, tableAccept)).columnDefinitions)
      : [];
    found[type] = {
      kind: object(described.responseKind).kind,
      singular: described.singularResource,
      namespaced: described.scope === "Namespaced",
      verbs,
      shortNames: strings(described.shortNames),
      categories: strings(described.categories),
      subresources: objects(described.subresources).map((subresource) => subresource.subresource),
      columns: columns.map(({ name, type: cellType, format, description, priority }) => ({
        name,
        type: cellType,
        ...(format === "" ? {} : { format }),
        description,
        ...(priority === 0 ? {} : { priority }),
      })),
    };
  }
  return found;
}

/**
 * Returns the protobuf encoding of every served kind: for each message its fields as `number name flags type`. Flags: `*` is
 * optional (absent means zero), `!` is always present, `^` is inlined in JSON, `[]` is repeated, `{}` is a map.
 */
function readMessages(modules: string, version: string): JsonObject {
  const messages = new Map<string, string[]>();
  for (const module of ["api", "apimachinery", "apiextensions-apiserver"]) {
    const root = join(modules, `${module}@${version}`);
    for (const proto of globSync("**/generated.proto", { cwd: root })) {
      readProto(join(root, proto), messages);
    }
  }
  const kinds = [...schemas.keys()].filter((name) =>
    Array.isArray(schemas.get(name)?.["x-kubernetes-group-version-kind"]),
  );
  const queue = [
    "k8s.io.apimachinery.pkg.apis.meta.v1.DeleteOptions",
    ...kinds.map((name) =>
      name.replace(/^io\.k8s\./, "k8s.io.").replace("apiextensions-apiserver", "apiextensions_apiserver"),
    ),
  ];
  const kept = new Map<string, string>();
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    const fields = messages.get(name);
    if (kept.has(name) || fields === undefined) continue;
    kept.set(name, fields.join(","));
    const folder = name.slice(0, name.lastIndexOf("."));
    for (const field of fields) {
      const type = (field.split(" ")[2] ?? "").replace(/^[*!^]*(\[\]|\{\})?/, "");
      queue.push(type.includes(".") ? type : `${folder}.${type}`);
    }
  }
  return Object.fromEntries([...kept].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function readProto(file: string, messages: Map<string, string[]>): void {
  const text = readFileSync(file, "utf8");
  const folder = /^package (\S+);$/m.exec(text)?.[1] ?? "";
  const declared = readGoFields(dirname(file));
  for (const [, name = "", body = ""] of text.matchAll(/^message (\w+) \{\n([\s\S]*?)^\}/gm)) {
    const fields = [...body.matchAll(/^ {2}(?:(optional|repeated) (\S+)|map<string, (\S+)>) (\w+) = (\d+);/gm)].map(
      ([, label, single, value, field = "", number = ""]) => {
        const type = (single ?? value ?? "").replace(/^\./, "").replace(`${folder}.`, "");
        const shape = value === undefined ? (label === "repeated" ? "[]" : "") : "{}";
        const { jsonName = "", flags: own = "" } = declared.get(`${name} ${number}`) ?? {};
        return `${number} ${jsonName === "" ? field : jsonName} ${own}${shape}${type}`;
      },
    );
    messages.set(`${folder}.${name}`, fields);
  }
}

/** Returns the properties of fields that only the Go structs define, by struct and field number. */
function readGoFields(folder: string): Map<string, Readonly<{ jsonName: string; flags: string }>> {
  const found = new Map<string, Readonly<{ jsonName: string; flags: string }>>();
  for (const file of globSync("*.go", { cwd: folder })) {
    if (file.endsWith("_test.go") || file.startsWith("zz_generated") || file.startsWith("generated.")) continue;
    const text = readFileSync(join(folder, file), "utf8");
    for (const [, name = "", body = ""] of text.matchAll(/^type (\w+) struct \{\n([\s\S]*?)^\}/gm)) {
      for (const [, declared = "", tag = ""] of body.matchAll(/^\t([^`\n]*?)\s*`([^`]*)`/gm)) {
        const number = /protobuf:"[^",]*,(\d+)/.exec(tag)?.[1];
        const json = /json:"([^"]*)"/.exec(tag)?.[1] ?? "";
        if (number === undefined) continue;
        const type = declared.trim().split(/\s+/).at(-1) ?? "";
        const isPointer = type.startsWith("*");
        const isKept = !/,(omitempty|omitzero|inline)/.test(json);
        const isInline = json.includes(",inline");
        found.set(`${name} ${number}`, {
          jsonName: json.split(",")[0] ?? "",
          flags: `${isPointer ? "*" : ""}${isKept ? "!" : ""}${isInline ? "^" : ""}`,
        });
      }
    }
  }
  return found;
}

/** Returns the default roles and bindings of a cluster for users, without those of Kubernetes components. */
async function readBootstrapRoles(): Promise<JsonObject> {
  const includedNames =
    /^(cluster-admin|admin|edit|view|system:aggregate-to-.*|system:(discovery|basic-user|public-info-viewer|monitoring))$/;
  const found: JsonObject = {};
  for (const plural of ["clusterroles", "clusterrolebindings"]) {
    const path = `/apis/rbac.authorization.k8s.io/v1/${plural}?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults`;
    for (const role of objects((await get(path, "application/json")).items)) {
      const { name, labels, annotations } = object(role.metadata);
      if (typeof name !== "string" || !includedNames.test(name)) continue;
      found[`${plural}/${name}`] = { ...role, metadata: { name, labels, annotations } };
    }
  }
  return found;
}

/** Returns the schemas of all served kinds and of the schemas that they reference, by their full names. */
async function readSchemas(): Promise<Map<string, JsonObject>> {
  const all = new Map<string, JsonObject>();
  const documents = new Set([...commonTypes, ...clusterTypes, ...subresourceKinds].map((type) => documentOf(type)));
  for (const path of documents) {
    const components = object(object((await get(`/openapi/v3/${path}`, "application/json")).components).schemas);
    for (const [name, schema] of Object.entries(components)) all.set(name, object(schema));
  }
  const servedKinds = new Set([
    ...Object.entries(resources).map(
      ([type, resource]) => `${type.slice(0, type.lastIndexOf("/"))}/${String(object(resource).kind)}`,
    ),
    ...subresourceKinds,
  ]);
  const roots = [...all]
    .filter(([, schema]) => gvks(schema).some((gvk) => servedKinds.has(gvk)))
    .filter(([name]) => !name.includes(".pkg.apis.meta."))
    .map(([name]) => name);
  const kept = new Map<string, JsonObject>();
  const queue = [...roots];
  for (let name = queue.pop(); name !== undefined; name = queue.pop()) {
    if (kept.has(name)) continue;
    const schema = all.get(name);
    if (schema === undefined) throw new Error(`generate: no schema ${name}`);
    const fitted = fitSchema(schema, shortName(name));
    kept.set(name, fitted);
    queue.push(...references(fitted));
  }
  return new Map([...kept].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function documentOf(type: string): string {
  const [group = "", version = ""] = type.split("/");
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

/**
 * Converts a published schema for validation and defaulting. A published default that is only Go's zero value would hide a
 * missing required field, so it is removed. It stays in statuses, where no field is required and readers see the zero value.
 */
function fitSchema(schema: JsonObject, owner: string): JsonObject {
  const isReport =
    /Status$|^ContainerState|^ControllerRevision$|^Event(Series)?$|^CustomResourceDefinitionVersion$|^NodeSystemInfo$|^DaemonEndpoint$/.test(
      owner,
    );
  const result = fitNode(schema, isReport);
  if (owner === "IntOrString") return { description: schema.description, "x-kubernetes-int-or-string": true };
  if (owner === "Quantity") {
    return { description: schema.description, format: "quantity", "x-kubernetes-int-or-string": true };
  }
  if (["JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"].includes(owner)) {
    return { description: schema.description, "x-kubernetes-preserve-unknown-fields": true };
  }
  if (owner === "RawExtension" || owner === "FieldsV1") {
    return { ...result, "x-kubernetes-preserve-unknown-fields": true };
  }
  return result;
}

function fitNode(node: JsonObject, isReport: boolean): JsonObject {
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === "allOf" && Array.isArray(value) && value.length === 1) result.$ref = object(value[0]).$ref;
    else if (key === "default" && !isReport && (value === "" || value === 0 || value === false)) continue;
    else if (key === "x-kubernetes-unions") continue;
    else if (key === "properties") {
      result[key] = Object.fromEntries(
        Object.entries(object(value)).map(([name, child]) => [name, fitNode(object(child), isReport)]),
      );
    } else if (key === "items" || (key === "additionalProperties" && typeof value === "object")) {
      const child = fitNode(object(value), isReport);
      // Zero values of list elements never apply: an element exists or it does not.
      delete child.default;
      result[key] = child;
    } else if (key === "required") {
      result[key] = strings(value).filter(
        (name) => !isReport || object(object(node.properties)[name]).type !== "array",
      );
    } else result[key] = value;
  }
  if (typeof result.$ref === "string") result.$ref = result.$ref.replace("#/components/schemas/", "");
  return result;
}

function references(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(references);
  if (typeof node !== "object" || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === "$ref" && typeof value === "string" ? [value] : references(value),
  );
}

function gvks(schema: JsonObject): string[] {
  return objects(schema["x-kubernetes-group-version-kind"]).map(
    ({ group, version, kind }) => `${String(group)}/${String(version)}/${String(kind)}`,
  );
}

function shortName(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

function writeGenerated(name: string, content: JsonObject): void {
  const file = new URL(`../packages/embedded/src/builtin/${name}.generated.json`, import.meta.url);
  const lines = Object.entries(content).map(([key, value]) => `${JSON.stringify(key)}: ${JSON.stringify(value)}`);
  const text = `{\n${lines.join(",\n")}\n}\n`;
  writeFileSync(file, text);
  console.log(`${name}: ${lines.length} entries, ${text.length} bytes`);
}

function get(path: string, accept: string): Promise<JsonObject> {
  const { promise, resolve, reject } = Promise.withResolvers<JsonObject>();
  const headers = { accept, ...(flags.token === undefined ? {} : { authorization: `Bearer ${flags.token}` }) };
  const call = request(`${flags.server}${path}`, { agent, headers }, (answer) => {
    let text = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      text += chunk;
    });
    answer.on("error", reject);
    answer.on("end", () => {
      if (answer.statusCode === 200) resolve(object(JSON.parse(text)));
      else reject(new Error(`generate: GET ${path}: ${answer.statusCode} ${text}`));
    });
  });
  call.on("error", reject);
  call.end();
  return promise;
}

function object(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.map(object) : [];
}

function strings(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}
