import { describe, expect, it } from "vitest";
import {
  downstreamNamespace,
  isNamespaceOf,
  isReservedNamespace,
  type Locator,
  locatorAnnotation,
  locatorOf,
  namespaceManifest,
} from "../../../../lib/sync/ownership/namespace-map.ts";

const shop: Locator = { hub: "https://kcp.example.com", logicalCluster: "1k2x3c4v5b6n7m8q", namespace: "shop" };
const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Deterministic pseudo-random numbers. */
function dice(seed: number): (sides: number) => number {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % sides;
  };
}

describe("downstreamNamespace", () => {
  it("a downstream namespace starts with the upstream name and is deterministic", () => {
    expect(downstreamNamespace(shop)).toMatch(/^tmc-shop-[0-9a-z]{25}$/);
    expect(downstreamNamespace({ ...shop })).toBe(downstreamNamespace(shop));
  });

  it.each(["a", "0", "a".repeat(63), `${"a".repeat(29)}-${"b".repeat(33)}`, "kube-system", "default"])(
    "a downstream namespace is a DNS label that no server uses, for %s",
    (namespace) => {
      const name = downstreamNamespace({ ...shop, namespace });
      expect(name).toMatch(dnsLabel);
      expect(name).toMatch(/^tmc-/);
    },
  );

  it("a million locators have different downstream namespaces, each of which leads back to its locator", {
    timeout: 180_000,
  }, () => {
    const roll = dice(7);
    const hubs = Array.from({ length: 20 }, (_, index) => `https://kcp-${index}.example.com`);
    const seen = new Set<string>();
    let wrong = 0;
    for (let index = 0; index < 1_000_000; index += 1) {
      // The namespaces come from few, as people's do; the index makes the logical cluster a new one.
      const cluster = `${roll(1 << 24).toString(36)}-${index.toString(36)}`;
      const locator = { hub: hubs[roll(20)] ?? "", logicalCluster: cluster, namespace: `team-${roll(50)}` };
      const name = downstreamNamespace(locator);
      seen.add(name);
      const annotations = { [locatorAnnotation]: JSON.stringify(locator) };
      const back = locatorOf({ metadata: { name, annotations } });
      if (
        back?.hub !== locator.hub ||
        back.logicalCluster !== locator.logicalCluster ||
        back.namespace !== locator.namespace
      ) {
        wrong += 1;
      }
    }
    expect({ names: seen.size, wrong }).toEqual({ names: 1_000_000, wrong: 0 });
  });

  it("locators with the same characters in different parts have different downstream namespaces", () => {
    const separators = ["/", "|", ":", ",", "-", '"', '","', "\\", "\\u0022", "\n", "\0", "\ud800", "\ufffd"];
    const words = ["", "a", "b", "ab", "1", "1a", ...separators, ...separators.map((separator) => `a${separator}b`)];
    const triples = words.flatMap((hub) =>
      words.flatMap((cluster) => words.map((namespace) => ({ hub, logicalCluster: cluster, namespace }))),
    );
    // Only the hash tells apart what the readable part has in common.
    const hashes = new Set(triples.map((locator) => downstreamNamespace(locator).slice(-25)));
    expect(hashes.size).toBe(triples.length);
  });
});

describe("locatorOf", () => {
  const { metadata } = namespaceManifest(shop);

  it("reads the locator of a downstream namespace that TMC wrote", () => {
    expect(locatorOf(namespaceObject())).toEqual(shop);
    expect(isNamespaceOf(namespaceObject(), shop)).toBe(true);
  });

  it("reads the locator beside other labels and annotations", () => {
    const labels = { ...metadata.labels, "kubernetes.io/metadata.name": metadata.name };
    expect(isNamespaceOf(namespaceObject({ labels }), shop)).toBe(true);
  });

  const locator = (fields: object): object => ({ annotations: { [locatorAnnotation]: JSON.stringify(fields) } });
  it.each<[string, object]>([
    ["it has no locator", { annotations: {} }],
    ["it has no annotations", { annotations: undefined }],
    ["its locator is not JSON", { annotations: { [locatorAnnotation]: "{" } }],
    ["its locator is a list", locator([shop])],
    ["its locator is null", { annotations: { [locatorAnnotation]: "null" } }],
    ["its locator lacks a part", locator({ hub: shop.hub, logicalCluster: shop.logicalCluster })],
    ["its locator contains a number", locator({ ...shop, namespace: 7 })],
    ["its locator is of another tenant", locator({ ...shop, logicalCluster: "other" })],
    ["its locator is of another control plane", locator({ ...shop, hub: "other" })],
    ["its name differs", { name: "tmc-shop-0000000000000000000000000" }],
    ["its name is one of the server", { name: "kube-system" }],
  ])("reads no locator from a namespace when %s", (_, change) => {
    expect(locatorOf(namespaceObject(change))).toBeUndefined();
    expect(isNamespaceOf(namespaceObject(change), shop)).toBe(false);
  });

  it("a downstream namespace is ours only with both label and annotation", () => {
    expect(isNamespaceOf(namespaceObject({ labels: {} }), shop)).toBe(false);
    expect(isNamespaceOf(namespaceObject(), { ...shop, namespace: "other" })).toBe(false);
  });

  function namespaceObject(change: object = {}): Parameters<typeof locatorOf>[0] {
    return { metadata: { ...metadata, ...change } as Parameters<typeof locatorOf>[0]["metadata"] };
  }
});

it.each([
  ["kube-system", true],
  ["kube-public", true],
  ["kube-anything", true],
  ["kcp-system", true],
  [downstreamNamespace(shop), true],
  ["tmc-system", true],
  ["default", false],
  ["shop", false],
  ["kubernetes", false],
  ["tmc-shop", false],
  ["my-kube-system", false],
])("isReservedNamespace(%s) is %s", (name, forbidden) => {
  expect(isReservedNamespace(name)).toBe(forbidden);
});
