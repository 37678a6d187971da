import { describe, expect, it } from "vitest";
import { normalize } from "../../src/builtin/normalize.ts";
import { builtinSchema } from "../../src/builtin/schemas.ts";
import { builtinDefinitions } from "./fixed-access.ts";

describe("builtinSchema", () => {
  it("has a schema for every served type", () => {
    const unknown = builtinDefinitions.filter(({ schema }) => schema.type !== "object").map(({ kind }) => kind);
    expect(unknown).toEqual([]);
  });

  it("replaces a reference by its schema and keeps the description of the field", () => {
    const template = builtinSchema("apps", "v1", "Deployment").properties?.spec?.properties?.template;
    expect(template?.description).toMatch(/^Template describes the pods that will be created/);
    expect(template?.properties?.spec?.properties?.containers).toMatchObject({
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      "x-kubernetes-patch-merge-key": "name",
      "x-kubernetes-patch-strategy": "merge",
    });
  });

  it("shares the schema of a type between all types that use it", () => {
    const podSpec = (kind: string) =>
      builtinSchema("apps", "v1", kind).properties?.spec?.properties?.template?.properties?.spec;
    expect(podSpec("Deployment")?.properties).toBe(podSpec("DaemonSet")?.properties);
  });

  it("resolves a recursive type to any depth", () => {
    const crd = builtinSchema("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    const version = crd.properties?.spec?.properties?.versions?.items;
    let schema = version?.properties?.schema?.properties?.openAPIV3Schema;
    for (let depth = 0; depth < 10; depth++) schema = schema?.properties?.not;
    expect(schema?.properties?.description?.type).toBe("string");
  });

  it("requires the fields that users must set, and defaults the fields that only servers set", () => {
    const service = builtinSchema("", "v1", "Service").properties?.spec?.properties?.ports?.items;
    expect(service?.required).toContain("port");
    expect(service?.properties?.port?.default).toBeUndefined();
    const status = builtinSchema("apps", "v1", "ReplicaSet").properties?.status;
    expect(status?.properties?.replicas?.default).toBe(0);
  });

  it("keeps the defaults that server-side apply needs to identify list items", () => {
    const pod = builtinSchema("", "v1", "Pod").properties?.spec;
    const port = pod?.properties?.containers?.items?.properties?.ports?.items;
    expect(port?.properties?.protocol?.default).toBe("TCP");
  });
});

describe("normalize", () => {
  it("drops nulls and writes quantities in canonical form", () => {
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "x" },
      spec: { nodeName: null, containers: [{ name: "a", command: null, resources: { limits: { cpu: 0.5 } } }] },
    };
    normalize(builtinSchema("", "v1", "Pod"), pod);
    expect(pod.spec).toEqual({ containers: [{ name: "a", resources: { limits: { cpu: "500m" } } }] });
  });

  it("keeps nulls in fields of any type", () => {
    const revision = { apiVersion: "apps/v1", kind: "ControllerRevision", metadata: {}, data: { spec: null } };
    normalize(builtinSchema("apps", "v1", "ControllerRevision"), revision);
    expect(revision.data).toEqual({ spec: null });
  });
});
