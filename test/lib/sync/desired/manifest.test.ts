import { ControllerError } from "@tmc/kube/fault.ts";
import { dump } from "js-yaml";
import { describe, expect, it } from "vitest";
import { fingerprintOfManifest, manifestOf } from "../../../../lib/sync/desired/manifest.ts";
import { downstreamNamespace } from "../../../../lib/sync/ownership/namespace-map.ts";
import type { Manifest, Workload } from "../../../../lib/sync/sync-objects.ts";
import { goldenNames as names, originFor, sent, sentFile, stored } from "../golden-files.ts";

function aWorkload(fields: Record<string, unknown> = {}): Workload {
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" }, ...fields };
}

describe("what goes down of each published type", () => {
  it("is covered for all of them", () => {
    const kinds = new Set(names.map((name) => stored(name).kind));
    const published =
      "Deployment StatefulSet DaemonSet Job CronJob Service Ingress ConfigMap Secret ServiceAccount PersistentVolumeClaim HorizontalPodAutoscaler";
    expect(published.split(" ").filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  it.each(names)("%s is what the golden file has", async (name) => {
    const text = dump(sent(stored(name)), { noRefs: true, lineWidth: -1 });
    await expect(text).toMatchFileSnapshot(sentFile(name));
  });

  it.each(names)("%s has nothing of a server in its metadata", (name) => {
    const { metadata, status } = sent(stored(name));
    expect(Object.keys(metadata)).toEqual(["name", "namespace", "labels", "annotations"]);
    const kept = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];
    expect(kept.filter((key) => key.includes("kcp.io")).toSorted()).toEqual(["tmc.kcp.io/owner", "tmc.kcp.io/synced"]);
    expect(kept).not.toContain("kubectl.kubernetes.io/last-applied-configuration");
    expect(status).toBeUndefined();
  });

  it.each(names)("%s is left as it was", (name) => {
    const workload = stored(name);
    sent(workload);
    expect(workload).toEqual(stored(name));
  });

  it.each(names)("%s that went down once and comes back goes down the same", (name) => {
    const once = sent(stored(name));
    const back = { ...once, metadata: { ...once.metadata, namespace: "shop" } } as Workload;
    const origin = originFor(stored(name));
    expect(manifestOf(back, { origin, namespace: downstreamNamespace(origin) })).toEqual(once);
  });
});

describe("metadata that nobody has heard of", () => {
  it("does no harm and stays behind", () => {
    const metadata = {
      name: "web",
      namespace: "shop",
      surprise: { deep: [1] },
      labels: { "example.com/odd": 7, app: "web" },
      annotations: { "example.com/": "", "strange key!": "kept", constructor: "kept too" },
    };
    const manifest = sent(aWorkload({ metadata }));
    expect(manifest.metadata.labels).toMatchObject({ app: "web" });
    expect(manifest.metadata.labels).not.toHaveProperty(["example.com/odd"]);
    expect(manifest.metadata.annotations).toMatchObject({ "strange key!": "kept", constructor: "kept too" });
    expect(manifest.metadata).not.toHaveProperty("surprise");
  });

  it.each(["kcp.io.example.com/a", "notkcp.io/a", "internal.example.com/a", "example.com/kcp.io"])(
    "keeps %s, which only looks like kcp's",
    (name) => {
      const manifest = sent(
        aWorkload({
          metadata: { name: "web", namespace: "shop", labels: { [name]: "x" }, annotations: { [name]: "x" } },
        }),
      );
      expect(manifest.metadata.labels).toHaveProperty([name], "x");
      expect(manifest.metadata.annotations).toHaveProperty([name], "x");
    },
  );

  it("cannot forge our marks", () => {
    const metadata = {
      name: "web",
      namespace: "shop",
      labels: { "tmc.kcp.io/synced": "another" },
      annotations: { "tmc.kcp.io/owner": "{}" },
    };
    expect(sent(aWorkload({ metadata }))).toEqual(sent(aWorkload()));
  });
});

it("the token of a service account is refused, and not told", () => {
  const secret = aWorkload({
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/service-account-token",
    data: { token: "c2VjcmV0" },
  });
  const refusal = new ControllerError(
    "invalid",
    `sync: secret "shop/web": a service account's token is of no use on another server`,
  );
  expect(() => sent(secret)).toThrow(refusal);
});

describe("the fingerprint of a manifest", () => {
  const manifest = (body: object): Manifest => ({ ...sent(aWorkload()), ...body });
  const base = fingerprintOfManifest(manifest({ spec: { a: 1, b: { c: [1, 2], d: "x" } } }));

  it("has at most 32 letters and digits", () => {
    expect(base).toMatch(/^[0-9a-z]{1,32}$/);
  });

  it("does not depend on the order of fields", () => {
    expect(fingerprintOfManifest(manifest({ spec: { b: { d: "x", c: [1, 2] }, a: 1 } }))).toBe(base);
  });

  it.each<[string, object]>([
    ["a value", { a: 1, b: { c: [1, 2], d: "y" } }],
    ["the type of a value", { a: "1", b: { c: [1, 2], d: "x" } }],
    ["the order of a list", { a: 1, b: { c: [2, 1], d: "x" } }],
    ["one more field", { a: 1, b: { c: [1, 2], d: "x", e: null } }],
  ])("changes with %s", (_, spec) => {
    expect(fingerprintOfManifest(manifest({ spec }))).not.toBe(base);
  });
});
