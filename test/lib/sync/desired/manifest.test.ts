import { ControllerError } from "@tmc/kube/fault.ts";
import { dump } from "js-yaml";
import { describe, expect, it } from "vitest";
import { manifestHash, manifestOf } from "../../../../lib/sync/desired/manifest.ts";
import { downstreamNamespace } from "../../../../lib/sync/ownership/namespace-map.ts";
import type { Manifest, Workload } from "../../../../lib/sync/sync-objects.ts";
import { goldenNames as names, ownerFor, sent, sentFile, stored } from "../golden-files.ts";

function aWorkload(fields: Record<string, unknown> = {}): Workload {
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web", namespace: "shop" }, ...fields };
}

describe("manifests of all published types", () => {
  it("has a golden file for every published type", () => {
    const kinds = new Set(names.map((name) => stored(name).kind));
    const published =
      "Deployment StatefulSet DaemonSet Job CronJob Service Ingress ConfigMap Secret ServiceAccount PersistentVolumeClaim HorizontalPodAutoscaler";
    expect(published.split(" ").filter((kind) => !kinds.has(kind))).toEqual([]);
  });

  it.each(names)("the manifest of %s equals its golden file", async (name) => {
    const text = dump(sent(stored(name)), { noRefs: true, lineWidth: -1 });
    await expect(text).toMatchFileSnapshot(sentFile(name));
  });

  it.each(names)("the manifest of %s has no metadata of the upstream server", (name) => {
    const { metadata, status } = sent(stored(name));
    expect(Object.keys(metadata)).toEqual(["name", "namespace", "labels", "annotations"]);
    const kept = [...Object.keys(metadata.labels ?? {}), ...Object.keys(metadata.annotations ?? {})];
    expect(kept.filter((key) => key.includes("kcp.io")).toSorted()).toEqual(["tmc.kcp.io/owner", "tmc.kcp.io/synced"]);
    expect(kept).not.toContain("kubectl.kubernetes.io/last-applied-configuration");
    expect(status).toBeUndefined();
  });

  it("the manifest of a Job has no time to live", () => {
    expect(stored("job").spec).toHaveProperty("ttlSecondsAfterFinished");
    expect(sent(stored("job")).spec).not.toHaveProperty("ttlSecondsAfterFinished");
  });

  it.each(names)("manifestOf does not modify %s", (name) => {
    const workload = stored(name);
    sent(workload);
    expect(workload).toEqual(stored(name));
  });

  it.each(names)("the manifest of a manifest of %s is the same manifest", (name) => {
    const once = sent(stored(name));
    const back = { ...once, metadata: { ...once.metadata, namespace: "shop" } } as Workload;
    const owner = ownerFor(stored(name));
    expect(manifestOf(back, { owner, namespace: downstreamNamespace(owner) })).toEqual(once);
  });
});

describe("unknown metadata", () => {
  it("drops unknown metadata fields and labels that are not strings", () => {
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
    "keeps the label and annotation %s, whose domain only resembles kcp.io",
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

  it("overwrites a label and annotation that a user forged", () => {
    const metadata = {
      name: "web",
      namespace: "shop",
      labels: { "tmc.kcp.io/synced": "another" },
      annotations: { "tmc.kcp.io/owner": "{}" },
    };
    expect(sent(aWorkload({ metadata }))).toEqual(sent(aWorkload()));
  });
});

it("rejects a service account token without showing it", () => {
  const secret = aWorkload({
    apiVersion: "v1",
    kind: "Secret",
    type: "kubernetes.io/service-account-token",
    data: { token: "c2VjcmV0" },
  });
  const refusal = new ControllerError(
    "invalid",
    `sync: secret "shop/web": a service account token is valid only on its own server`,
  );
  expect(() => sent(secret)).toThrow(refusal);
});

describe("manifestHash", () => {
  const manifest = (body: object): Manifest => ({ ...sent(aWorkload()), ...body });
  const base = manifestHash(manifest({ spec: { a: 1, b: { c: [1, 2], d: "x" } } }));

  it("returns at most 32 letters and digits", () => {
    expect(base).toMatch(/^[0-9a-z]{1,32}$/);
  });

  it("the hash of a manifest does not depend on the order of fields", () => {
    expect(manifestHash(manifest({ spec: { b: { d: "x", c: [1, 2] }, a: 1 } }))).toBe(base);
  });

  it.each<[string, object]>([
    ["a value", { a: 1, b: { c: [1, 2], d: "y" } }],
    ["the type of a value", { a: "1", b: { c: [1, 2], d: "x" } }],
    ["the order of a list", { a: 1, b: { c: [2, 1], d: "x" } }],
    ["one more field", { a: 1, b: { c: [1, 2], d: "x", e: null } }],
  ])("the hash of a manifest changes with %s", (_, spec) => {
    expect(manifestHash(manifest({ spec }))).not.toBe(base);
  });
});
