import { describe, expect, it } from "vitest";
import { allVerbs, type ResourceDefinition } from "../../src/definitions/definition.ts";
import { compareVersions, respondDiscovery } from "../../src/definitions/discovery.ts";
import { aCatalog, builtinDefinitions, definitionOf } from "../builtin/fixed-access.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

const gadget: ResourceDefinition = {
  ...definitionOf("ConfigMap"),
  group: "example.com",
  version: "v1beta1",
  plural: "gadgets",
  singular: "gadget",
  kind: "Gadget",
  shortNames: [],
  flavor: "custom",
  verbs: allVerbs,
  status: true,
  scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
};
const catalog = aCatalog([...builtinDefinitions, gadget, { ...gadget, version: "v1" }]);
const body = (path: string, accept = "application/json") => respondDiscovery(catalog, path, accept)?.body;

describe("respondDiscovery", () => {
  it("lists the versions of the core group", () => {
    expect(body("/api")).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
  });

  it("describes a group with its preferred version first", () => {
    expect(body("/apis/example.com")).toEqual({
      kind: "APIGroup",
      apiVersion: "v1",
      name: "example.com",
      versions: [
        { groupVersion: "example.com/v1", version: "v1" },
        { groupVersion: "example.com/v1beta1", version: "v1beta1" },
      ],
      preferredVersion: { groupVersion: "example.com/v1", version: "v1" },
    });
  });

  it("lists Kubernetes' own groups before all others", () => {
    const { groups } = body("/apis") as { groups: { name: string }[] };
    expect(groups[0]?.name).toBe("apps");
    expect(groups.at(-1)?.name).toBe("example.com");
  });

  it("lists types with their subresources, and scale with its own group", () => {
    const { resources } = body("/apis/apps/v1") as { resources: { name: string }[] };
    expect(resources.filter(({ name }) => name.startsWith("deployments"))).toEqual([
      {
        name: "deployments",
        singularName: "deployment",
        namespaced: true,
        kind: "Deployment",
        verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
        shortNames: ["deploy"],
        categories: ["all"],
      },
      {
        name: "deployments/scale",
        singularName: "",
        namespaced: true,
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: ["get", "patch", "update"],
      },
      {
        name: "deployments/status",
        singularName: "",
        namespaced: true,
        kind: "Deployment",
        verbs: ["get", "patch", "update"],
      },
    ]);
  });

  it("returns the aggregated form to clients that prefer it", () => {
    const answer = respondDiscovery(catalog, "/apis", `${aggregated},application/json`);
    expect(answer?.contentType).toBe(aggregated);
    const { items } = (answer?.body ?? { items: [] }) as {
      items: { metadata: { name: string }; versions: { version: string; resources: unknown[] }[] }[];
    };
    expect(items.find(({ metadata }) => metadata.name === "example.com")?.versions[0]).toEqual({
      version: "v1",
      freshness: "Current",
      resources: [
        {
          resource: "gadgets",
          responseKind: { group: "example.com", version: "v1", kind: "Gadget" },
          scope: "Namespaced",
          singularResource: "gadget",
          verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
          subresources: [
            {
              subresource: "status",
              responseKind: { group: "example.com", version: "v1", kind: "Gadget" },
              verbs: ["get", "patch", "update"],
            },
            {
              subresource: "scale",
              responseKind: { group: "autoscaling", version: "v1", kind: "Scale" },
              verbs: ["get", "patch", "update"],
            },
          ],
        },
      ],
    });
  });

  it.each([
    "application/json",
    "*/*",
    "",
    `application/json,${aggregated}`,
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
  ])("returns the plain form for %s", (accept) => {
    expect(body("/apis", accept)).toMatchObject({ kind: "APIGroupList" });
  });

  it.each(["/apis/nope", "/apis/apps/v9", "/api/v2", "/healthz", "/apis/apps/v1/deployments"])(
    "returns nothing for %s",
    (path) => {
      expect(body(path)).toBeUndefined();
    },
  );

  it("has no core group if none is served", () => {
    expect(respondDiscovery(aCatalog([gadget]), "/api", "")).toBeUndefined();
  });
});

describe("compareVersions", () => {
  it("orders stable before beta before alpha, high before low, and other names last", () => {
    const versions = ["foo1", "v1alpha1", "v2beta1", "v10", "v1", "v11beta2", "v2", "bar", "v3alpha2"];
    expect(versions.toSorted(compareVersions)).toEqual([
      "v10",
      "v2",
      "v1",
      "v11beta2",
      "v2beta1",
      "v3alpha2",
      "v1alpha1",
      "bar",
      "foo1",
    ]);
  });
});
