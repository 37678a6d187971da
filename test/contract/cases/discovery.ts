import { expect, it } from "vitest";
import type { MakeRoom } from "../server-under-test.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

type Resource = {
  name: string;
  kind: string;
  namespaced: boolean;
  verbs: string[];
  shortNames?: string[];
  singularName?: string;
};

export function discoveryCases(room: MakeRoom, kind: "kcp" | "cluster"): void {
  const json = async (path: string, accept?: string) => {
    const { client } = await room();
    const { status, text, headers } = await client.raw("GET", path, accept === undefined ? {} : { accept });
    if (status !== 200) throw new Error(`${path}: ${status} ${text}`);
    return { status, headers, body: JSON.parse(text) };
  };

  it("answers its version", async () => {
    const { body } = await json("/version");
    expect(body).toMatchObject({
      major: "1",
      gitVersion: expect.stringMatching(kind === "kcp" ? /^v1\.35\.\d+\+kcp-v0\.31/ : /^v1\.36\./),
    });
  });

  it("says it is ready and alive", async () => {
    const { server } = await room();
    for (const path of ["/readyz", "/livez", "/healthz"]) {
      expect(await server.admin.raw("GET", path)).toMatchObject({ status: 200, text: "ok" });
    }
  });

  it("lists the versions of the core group", async () => {
    const { body } = await json("/api");
    expect(body).toMatchObject({ kind: "APIVersions", versions: ["v1"] });
  });

  it("lists its groups", async () => {
    const { body } = await json("/apis");
    expect(body).toMatchObject({ kind: "APIGroupList", apiVersion: "v1" });
    const names = body.groups.map((group: { name: string }) => group.name);
    for (const name of [
      "apiextensions.k8s.io",
      "authorization.k8s.io",
      "rbac.authorization.k8s.io",
      "coordination.k8s.io",
      "events.k8s.io",
    ]) {
      expect(names).toContain(name);
    }
    expect(names.includes("apps")).toBe(kind === "cluster");
    expect(names.includes("tenancy.kcp.io")).toBe(kind === "kcp");
  });

  it("describes one group", async () => {
    const { body } = await json("/apis/rbac.authorization.k8s.io");
    expect(body).toMatchObject({
      kind: "APIGroup",
      apiVersion: "v1",
      name: "rbac.authorization.k8s.io",
      versions: [{ groupVersion: "rbac.authorization.k8s.io/v1", version: "v1" }],
      preferredVersion: { groupVersion: "rbac.authorization.k8s.io/v1", version: "v1" },
    });
  });

  it("lists the resources of the core group with verbs and short names", async () => {
    const { body } = await json("/api/v1");
    expect(body).toMatchObject({ kind: "APIResourceList", groupVersion: "v1" });
    const resources = new Map<string, Resource>(body.resources.map((resource: Resource) => [resource.name, resource]));
    expect(resources.get("configmaps")).toMatchObject({
      kind: "ConfigMap",
      namespaced: true,
      shortNames: ["cm"],
      singularName: "configmap",
    });
    expect(resources.get("configmaps")?.verbs.toSorted()).toEqual([
      "create",
      "delete",
      "deletecollection",
      "get",
      "list",
      "patch",
      "update",
      "watch",
    ]);
    expect(resources.get("namespaces")).toMatchObject({ kind: "Namespace", namespaced: false, shortNames: ["ns"] });
    expect(resources.get("namespaces")?.verbs.toSorted()).toEqual([
      "create",
      "delete",
      "get",
      "list",
      "patch",
      "update",
      "watch",
    ]);
    expect(resources.has("namespaces/status")).toBe(true);
    expect(resources.has("namespaces/finalize")).toBe(true);
    expect(resources.has("serviceaccounts/token")).toBe(true);
    expect(resources.has("pods")).toBe(kind === "cluster");
  });

  // kcp 0.31 has no aggregated discovery of groups: it answers the old form, and clients ask on.
  if (kind === "kcp") {
    it("answers the list of groups to who asks for aggregated discovery", async () => {
      const { body, headers } = await json("/apis", `${aggregated},application/json`);
      expect(headers["content-type"]).toBe("application/json");
      expect(body).toMatchObject({ kind: "APIGroupList" });
    });
  }

  if (kind === "cluster")
    it("answers aggregated discovery of groups in one request", async () => {
      const { body, headers } = await json("/apis", aggregated);
      expect(headers["content-type"]).toContain("as=APIGroupDiscoveryList");
      expect(body).toMatchObject({ kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2" });
      const leases = body.items
        .find((item: { metadata: { name: string } }) => item.metadata.name === "coordination.k8s.io")
        ?.versions.find((version: { version: string }) => version.version === "v1")
        ?.resources.find((resource: { resource: string }) => resource.resource === "leases");
      expect(leases).toMatchObject({
        scope: "Namespaced",
        singularResource: "lease",
        responseKind: { kind: "Lease" },
      });
    });

  it("answers aggregated discovery of the core group", async () => {
    const { body } = await json("/api", aggregated);
    const version = body.items[0].versions[0];
    expect(version.version).toBe("v1");
    const account = version.resources.find((resource: { resource: string }) => resource.resource === "serviceaccounts");
    expect(account.subresources).toEqual([
      {
        subresource: "token",
        responseKind: { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" },
        verbs: ["create"],
      },
    ]);
  });

  it("indexes its OpenAPI documents", async () => {
    const { body } = await json("/openapi/v3");
    expect(body.paths["api/v1"].serverRelativeURL).toMatch(/openapi\/v3\/api\/v1\?hash=/);
    expect(body.paths["apis/rbac.authorization.k8s.io/v1"]).toBeDefined();
  });

  it("describes its types in OpenAPI", async () => {
    const { body } = await json("/openapi/v3/api/v1");
    const schema = body.components.schemas["io.k8s.api.core.v1.ConfigMap"];
    expect(schema.properties.data).toMatchObject({ type: "object" });
    expect(schema.description).toContain("ConfigMap holds configuration data");
    expect(schema["x-kubernetes-group-version-kind"]).toEqual([{ group: "", kind: "ConfigMap", version: "v1" }]);
  });

  it("answers 404 below groups it does not know", async () => {
    const { client } = await room();
    expect((await client.raw("GET", "/apis/none.example.com")).status).toBe(404);
    expect((await client.raw("GET", "/apis/rbac.authorization.k8s.io/v9")).status).toBe(404);
  });

  it("refuses to answer in a form it does not have", async () => {
    const { client } = await room();
    const { status, text } = await client.raw("GET", "/api/v1/namespaces", { accept: "text/csv" });
    expect(status).toBe(406);
    expect(JSON.parse(text)).toMatchObject({ reason: "NotAcceptable" });
  });
}
