import { describe, expect, it } from "vitest";
import type { Catalog, ResourceDefinition } from "../../src/definitions/definition.ts";
import { respondOpenApi } from "../../src/definitions/openapi.ts";
import { aCatalog, builtinDefinitions, definitionOf } from "../builtin/fixed-access.ts";

const gadget: ResourceDefinition = {
  ...definitionOf("ConfigMap"),
  group: "example.com",
  version: "v1",
  plural: "gadgets",
  kind: "Gadget",
  flavor: "custom",
  schema: { type: "object", description: "A gadget.", properties: { spec: { type: "object" } } },
};
const catalog = aCatalog([...builtinDefinitions, gadget]);

type Operation = {
  requestBody?: { content: Record<string, unknown> };
  parameters?: { name: string }[];
  "x-kubernetes-group-version-kind": object;
};
type Document = {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>> };
};

function read(path: string, from = catalog): Document {
  const answer = respondOpenApi(from, path);
  if (answer === undefined) throw new Error(`no document at ${path}`);
  return JSON.parse(answer.body) as Document;
}

function index(from: Catalog): Record<string, { serverRelativeURL: string }> {
  const { paths } = JSON.parse(respondOpenApi(from, "/openapi/v3")?.body ?? "{}") as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  return paths;
}

const patchTypes = (document: Document, path: string) =>
  Object.keys(document.paths[path]?.patch?.requestBody?.content ?? {});

describe("respondOpenApi", () => {
  it("lists a document for every group and version", () => {
    expect(Object.keys(index(catalog))).toContain("api/v1");
    expect(index(catalog)["apis/apps/v1"]?.serverRelativeURL).toMatch(
      /^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]{128}$/,
    );
  });

  it("changes the hash of a changed schema only", () => {
    const changed = aCatalog([...builtinDefinitions, { ...gadget, schema: { type: "object" } }]);
    expect(index(changed)["apis/example.com/v1"]).not.toEqual(index(catalog)["apis/example.com/v1"]);
    expect(index(changed)["apis/apps/v1"]).toEqual(index(catalog)["apis/apps/v1"]);
  });

  it("refers only to schemas that it contains", () => {
    for (const path of Object.keys(index(catalog))) {
      const document = read(`/openapi/v3/${path}`);
      const named = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
        ([, name = ""]) => name,
      );
      expect(named.filter((name) => document.components.schemas[name] === undefined)).toEqual([]);
    }
  });

  it("describes types in the form that kubectl explain reads", () => {
    const { components } = read("/openapi/v3/apis/apps/v1");
    expect(components.schemas["io.k8s.api.apps.v1.Deployment"]).toMatchObject({
      "x-kubernetes-group-version-kind": [{ group: "apps", version: "v1", kind: "Deployment" }],
      properties: {
        spec: {
          description: "Specification of the desired behavior of the Deployment.",
          allOf: [{ $ref: "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec" }],
        },
      },
    });
    expect(components.schemas["io.k8s.apimachinery.pkg.util.intstr.IntOrString"]).toMatchObject({
      format: "int-or-string",
      oneOf: [{ type: "integer" }, { type: "string" }],
    });
  });

  it("adds apiVersion, kind and metadata to a custom type", () => {
    const { components, paths } = read("/openapi/v3/apis/example.com/v1");
    expect(components.schemas["com.example.v1.Gadget"]).toMatchObject({
      description: "A gadget.",
      properties: {
        spec: { type: "object" },
        metadata: { allOf: [{ $ref: "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta" }] },
      },
    });
    expect(
      paths["/apis/example.com/v1/namespaces/{namespace}/gadgets"]?.get?.["x-kubernetes-group-version-kind"],
    ).toEqual({
      group: "example.com",
      version: "v1",
      kind: "Gadget",
    });
  });

  it("offers strategic merge patches for built-in types only", () => {
    const builtin = patchTypes(
      read("/openapi/v3/apis/apps/v1"),
      "/apis/apps/v1/namespaces/{namespace}/deployments/{name}",
    );
    const custom = patchTypes(
      read("/openapi/v3/apis/example.com/v1"),
      "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}",
    );
    expect(builtin).toContain("application/strategic-merge-patch+json");
    expect(custom).toEqual([
      "application/apply-patch+yaml",
      "application/json-patch+json",
      "application/merge-patch+json",
    ]);
  });

  it("announces server-side field validation", () => {
    const { paths } = read("/openapi/v3/api/v1");
    expect(paths["/api/v1/namespaces/{name}"]?.patch?.parameters?.map(({ name }) => name)).toContain("fieldValidation");
  });

  it("returns an OpenAPI v2 document without types, as JSON or as the protobuf that kubectl requests", () => {
    const wanted = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    expect(JSON.parse(respondOpenApi(catalog, "/openapi/v2")?.body ?? "")).toMatchObject({
      swagger: "2.0",
      paths: {},
    });
    expect(respondOpenApi(catalog, "/openapi/v2", wanted)?.body).toBe("\n\x032.0\x12\f\n\nKubernetesB\0");
  });

  it.each(["/openapi/v3/apis/nope/v1", "/openapi/v3/apis/apps", "/apis"])("returns nothing for %s", (path) => {
    expect(respondOpenApi(catalog, path)).toBeUndefined();
  });
});
