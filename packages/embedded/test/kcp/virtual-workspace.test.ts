import { valueAt } from "@tmc/kube/json.ts";
import { describe, expect, it } from "vitest";
import {
  aResource,
  aSchema,
  aWidget,
  bindingsPath,
  configMapClaim,
  exportedWidgets,
  exportsPath,
  kcpForEachTest,
  merge,
  schemasPath,
} from "./support.ts";

const test = kcpForEachTest();

const all = { ...configMapClaim, state: "Accepted", selector: { matchAll: true } };
const some = { ...configMapClaim, state: "Accepted", selector: { matchLabels: { app: "x" } } };
const widgets = "/apis/example.dev/v1/widgets";
const inDefault = "/apis/example.dev/v1/namespaces/default/widgets";
const configMaps = "/api/v1/namespaces/default/configmaps";
const aConfigMap = (name: string, labels: Record<string, string> = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
});
const names = (body: unknown): unknown => {
  const items = valueAt(body, "items");
  return Array.isArray(items) ? items.map((item) => valueAt(item, "metadata", "name")) : items;
};

describe("an export's virtual workspace", () => {
  it("lists the objects of all consumers, each with its logical cluster", async () => {
    const { everywhere, consumer, inConsumer } = await exportedWidgets(test);
    await test.call("POST", inConsumer + inDefault, aWidget("a"));
    const { body } = await test.call("GET", everywhere + widgets);
    expect(names(body)).toEqual(["a"]);
    expect(body).toMatchObject({ items: [{ metadata: { annotations: { "kcp.io/cluster": consumer } } }] });
  });

  it("reads and writes in one consumer, including status", async () => {
    const { inConsumer } = await exportedWidgets(test);
    await test.call("POST", inConsumer + inDefault, aWidget("a", { size: 1 }));
    await test.call("PATCH", `${inConsumer}${inDefault}/a`, { spec: { size: 2 } }, { type: merge });
    await test.call("PATCH", `${inConsumer}${inDefault}/a/status`, { status: { ok: true } }, { type: merge });
    expect(await test.read(`/clusters/root:consumer${inDefault}/a`)).toMatchObject({
      spec: { size: 2 },
      status: { ok: true },
    });
  });

  it("has no scale subresource, unlike the workspace", async () => {
    const { inConsumer } = await exportedWidgets(test);
    await test.call("POST", inConsumer + inDefault, aWidget("a", { size: 1 }));
    expect((await test.call("GET", `/clusters/root:consumer${inDefault}/a/scale`)).status).toBe(200);
    expect(await test.call("GET", `${inConsumer}${inDefault}/a/scale`)).toMatchObject({
      status: 404,
      message: 'widgets.example.dev "a" not found',
    });
  });

  it("addresses consumers by logical cluster name and not by path", async () => {
    const { service } = await exportedWidgets(test);
    for (const path of ["", "/api", "/clusters", `/clusters/root:consumer${widgets}`]) {
      expect(await test.call("GET", service + path)).toMatchObject({
        status: 403,
        message: `forbidden: User "kcp-admin" cannot get path "${service}${path}": Path not resolved to a valid virtual workspace`,
      });
    }
  });

  it("allows only list and watch across consumers and across namespaces", async () => {
    const { everywhere } = await exportedWidgets(test);
    const missing = "the server could not find the requested resource";
    expect(await test.call("GET", `${everywhere}${inDefault}/a`)).toMatchObject({ status: 404, message: missing });
    expect(await test.call("POST", everywhere + inDefault, aWidget("a"))).toMatchObject({
      status: 404,
      message: missing,
    });
    expect(await test.call("GET", everywhere + inDefault)).toMatchObject({
      status: 400,
      message: "cross-cluster LIST and WATCH are required to be cross-namespace, not scoped to namespace default",
    });
  });

  it("serves a type across consumers only after the first binding", async () => {
    const { everywhere } = await exportedWidgets(test);
    expect((await test.call("GET", everywhere + widgets)).status).toBe(200);
    await test.call("DELETE", `/clusters/root:consumer${bindingsPath}/widgets`);
    expect((await test.call("GET", everywhere + widgets)).status).toBe(404);
  });

  it("rejects consumers without a binding and missing consumers with the same message", async () => {
    const { service } = await exportedWidgets(test);
    const other = test.kcp.createWorkspace("root:unbound");
    for (const cluster of [other, "nonexistent"]) {
      expect(await test.call("GET", `${service}/clusters/${cluster}${widgets}`)).toMatchObject({
        status: 403,
        message:
          'widgets.example.dev is forbidden: User "kcp-admin" cannot list resource "widgets" in API group "example.dev" at the cluster scope: access denied',
      });
    }
  });

  it("lists only the bindings of its own export", async () => {
    const { everywhere, consumer, inConsumer } = await exportedWidgets(test);
    const { body } = await test.call("GET", everywhere + bindingsPath);
    expect(names(body)).toEqual(["widgets"]);
    expect(body).toMatchObject({ items: [{ metadata: { annotations: { "kcp.io/cluster": consumer } } }] });
    expect((await test.call("DELETE", `${inConsumer}${bindingsPath}/widgets`)).status).toBe(403);
  });

  it("serves an accepted claim, with the verbs that both sides name", async () => {
    const { inConsumer } = await exportedWidgets(test, [all]);
    expect((await test.call("POST", inConsumer + configMaps, aConfigMap("a"))).status).toBe(201);
    expect(names((await test.call("GET", inConsumer + configMaps)).body)).toEqual(["a", "kube-root-ca.crt"]);
    expect((await test.call("DELETE", `${inConsumer}${configMaps}/a`)).status).toBe(403);
    expect((await test.call("GET", `${inConsumer}/api/v1/secrets`)).status).toBe(403);
  });

  it("does not expand * in the verbs of a claim", async () => {
    const { inConsumer } = await exportedWidgets(test, [{ ...all, verbs: ["*"] }]);
    expect((await test.call("GET", inConsumer + configMaps)).status).toBe(403);
  });

  it("shows only objects that match a claim's selector, and adds its labels to created objects", async () => {
    const { inConsumer, everywhere } = await exportedWidgets(test, [some]);
    await test.call("POST", `/clusters/root:consumer${configMaps}`, aConfigMap("hidden"));
    await test.call("POST", inConsumer + configMaps, aConfigMap("made"));
    expect(names((await test.call("GET", `${everywhere}/api/v1/configmaps`)).body)).toEqual(["made"]);
    expect((await test.call("GET", `${inConsumer}${configMaps}/hidden`)).status).toBe(404);
    expect(await test.read(`/clusters/root:consumer${configMaps}/made`, "metadata", "labels", "app")).toBe("x");
    expect(await test.call("POST", inConsumer + configMaps, aConfigMap("other", { app: "y" }))).toMatchObject({
      status: 403,
      message: 'configmaps "other" is forbidden: protected label app must have value x',
    });
  });

  it("shows existing objects after their claim is accepted, and hides them after it is rejected", async () => {
    const { inConsumer, everywhere } = await exportedWidgets(test, [{ ...all, state: "Rejected" }]);
    const seen = async () => names((await test.call("GET", `${everywhere}/api/v1/configmaps`)).body);
    const answer = (state: string) =>
      test.call(
        "PATCH",
        `/clusters/root:consumer${bindingsPath}/widgets`,
        { spec: { permissionClaims: [{ ...all, state }] } },
        { type: merge },
      );
    expect(await seen()).toEqual([]);
    await answer("Accepted");
    expect(await seen()).toEqual(["kube-root-ca.crt", "kube-root-ca.crt"]);
    await answer("Rejected");
    expect(await seen()).toEqual([]);
    expect((await test.call("GET", inConsumer + configMaps)).status).toBe(403);
  });

  it("serves discovery, also for consumers that do not exist", async () => {
    const { everywhere, service } = await exportedWidgets(test, [all]);
    for (const place of [everywhere, `${service}/clusters/nonexistent`]) {
      const { body } = await test.call("GET", `${place}/apis/example.dev/v1`);
      expect(body).toMatchObject({ resources: [{ name: "widgets" }, { name: "widgets/status" }] });
    }
    expect((await test.call("GET", `${everywhere}/api/v1`)).body).toMatchObject({
      resources: [{ name: "configmaps" }],
    });
  });

  it("ends only the watches of a type whose schema is replaced", async () => {
    const { everywhere } = await exportedWidgets(test, [all]);
    const watch = async (path: string) => {
      const response = await test.kcp
        .transport()
        .send({ method: "GET", path: `${path}?watch=true`, headers: {}, timeoutMs: 5_000 });
      let ended = false;
      const reading = (async () => {
        for await (const _ of response.chunks()) void _;
        ended = true;
      })();
      return { hasEnded: () => ended, reading, cancel: () => response.cancel() };
    };
    const swapped = await watch(everywhere + widgets);
    const kept = await watch(`${everywhere}/api/v1/configmaps`);
    const tenants = await watch(everywhere + bindingsPath);
    await test.call("POST", `/clusters/root:provider${schemasPath}`, aSchema("v2.widgets.example.dev"));
    const spec = { resources: [aResource("v2.widgets.example.dev")] };
    await test.call("PATCH", `/clusters/root:provider${exportsPath}/example.dev`, { spec }, { type: merge });
    await swapped.reading;
    expect([swapped.hasEnded(), kept.hasEnded(), tenants.hasEnded()]).toEqual([true, false, false]);
    kept.cancel();
    tenants.cancel();
  });
});
