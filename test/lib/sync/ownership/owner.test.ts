import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import {
  isOwnedBy,
  type Owner,
  ownerAnnotation,
  ownerOf,
  ownershipMetadata,
  syncedLabel,
  tenantLabelValue,
  whyNotOwned,
} from "../../../../lib/sync/ownership/owner.ts";

const ours: Owner = {
  hub: "https://kcp.example.com",
  logicalCluster: "1k2x3c4v5b6n7m8q",
  namespace: "shop",
  registration: "east",
  apiVersion: "apps/v1",
  kind: "Deployment",
  name: "web",
};

/** A copy with the label and annotation of an owner, and with changed fields. */
function aCopy(owner: Owner = ours, change: Partial<KubeObject> = {}): KubeObject {
  const { labels, annotations } = ownershipMetadata(owner);
  const metadata = { name: "web", namespace: "tmc-shop", labels: { ...labels }, annotations: { ...annotations } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, ...change };
}

function withOwnership(labels: Record<string, string>, annotations: Record<string, string>): KubeObject {
  return { ...aCopy(), metadata: { name: "web", labels, annotations } };
}

const ownership = ownershipMetadata(ours);

it("the label value of a tenant is valid and unique", () => {
  const value = tenantLabelValue(ours.hub, ours.logicalCluster);
  expect(value).toMatch(/^[a-z0-9]([a-z0-9]{0,61}[a-z0-9])?$/);
  const others = [
    ["", ""],
    [ours.hub, ""],
    ["", ours.logicalCluster],
    [ours.logicalCluster, ours.hub],
    [ours.hub + ours.logicalCluster, ""],
  ].map(([hub = "", cluster = ""]) => tenantLabelValue(hub, cluster));
  expect(new Set([value, ...others]).size).toBe(others.length + 1);
});

it("ownerOf returns the owner that ownershipMetadata wrote", () => {
  expect(ownerOf(aCopy())).toEqual(ours);
});

it("ownershipMetadata does not depend on the order of the owner's fields", () => {
  const turned = Object.fromEntries(Object.entries(ours).toReversed()) as Owner;
  expect(JSON.stringify(ownershipMetadata(turned))).toBe(JSON.stringify(ownership));
});

describe("an invalid owner annotation", () => {
  it.each([
    "",
    "{",
    "null",
    "[]",
    '"text"',
    "7",
    "{}",
    JSON.stringify({ ...ours, name: 7 }),
    '{"__proto__":{"hub":"x"}}',
  ])("ownerOf returns undefined for the annotation %j", (text) => {
    const object = withOwnership({ ...ownership.labels }, { [ownerAnnotation]: text });
    expect(ownerOf(object)).toBeUndefined();
    expect(isOwnedBy(object, ours)).toBe(false);
  });

  it("ownerOf returns undefined for an object without metadata", () => {
    expect(ownerOf({ metadata: {} })).toBeUndefined();
  });
});

describe("isOwnedBy for an owned object", () => {
  it.each<[string, KubeObject]>([
    ["recognizes a copy by label and annotation", aCopy()],
    ["recognizes a copy in another version of its API", aCopy({ ...ours, apiVersion: "apps/v1beta2" })],
    [
      "recognizes a copy with additional labels and annotations",
      withOwnership({ ...ownership.labels, app: "web" }, { ...ownership.annotations, "example.com/a": "b" }),
    ],
  ])("%s", (_, object) => {
    expect(isOwnedBy(object, ours)).toBe(true);
    expect(whyNotOwned(object, ours)).toBe("it is owned by this workload");
  });
});

describe("whyNotOwned, which names nothing of other tenants", () => {
  const notCreated = "it was not created by TMC";
  it.each<[string, KubeObject, string]>([
    ["explains that an object without label and annotation is not owned", withOwnership({}, {}), notCreated],
    [
      "explains that an object with only the label is not owned",
      withOwnership({ ...ownership.labels }, {}),
      notCreated,
    ],
    [
      "explains that an object with only the annotation is not owned",
      withOwnership({}, { ...ownership.annotations }),
      notCreated,
    ],
    [
      "explains that an object of another control plane is not owned",
      aCopy({ ...ours, hub: "other" }),
      "it belongs to another control plane",
    ],
    [
      "explains that an object of another tenant is not owned",
      aCopy({ ...ours, logicalCluster: "other" }),
      "it belongs to another logical cluster",
    ],
    [
      "explains that an object with the label of another tenant is not owned",
      withOwnership({ [syncedLabel]: tenantLabelValue(ours.hub, "other") }, { ...ownership.annotations }),
      "its label and its annotation name different owners",
    ],
    [
      "explains that an object of another registration is not owned",
      aCopy({ ...ours, registration: "west" }),
      "it belongs to registration west",
    ],
    [
      "explains that an object of another namespace is not owned",
      aCopy({ ...ours, namespace: "till" }),
      "it belongs to Deployment till/web",
    ],
    [
      "explains that an object of another name is not owned",
      aCopy({ ...ours, name: "api" }),
      "it belongs to Deployment shop/api",
    ],
    [
      "explains that an object of another kind is not owned",
      aCopy({ ...ours, kind: "StatefulSet" }),
      "it belongs to StatefulSet shop/web",
    ],
    [
      "explains that an object of another group is not owned",
      aCopy({ ...ours, apiVersion: "example.com/v1" }),
      "it belongs to Deployment shop/web",
    ],
    [
      "does not repeat an invalid registration name",
      aCopy({ ...ours, registration: "no\nname".repeat(100) }),
      "it belongs to registration ?",
    ],
  ])("%s", (_, object, reason) => {
    expect(isOwnedBy(object, ours)).toBe(false);
    expect(whyNotOwned(object, ours)).toBe(reason);
  });

  it.each<[string, Partial<KubeObject>]>([
    ["does not own a ReplicaSet with the label and annotation of its Deployment", { kind: "ReplicaSet" }],
    ["does not own Endpoints with the label and annotation of their Service", { apiVersion: "v1", kind: "Endpoints" }],
    ["does not own a duplicate of a copy under another name", { metadata: { ...aCopy().metadata, name: "web-2" } }],
  ])("%s", (_, change) => {
    const object = aCopy(ours, change);
    expect(isOwnedBy(object, ours)).toBe(false);
    expect(whyNotOwned(object, ours)).toBe(
      "it was not created by TMC; it carries the label and annotation of an object that was",
    );
  });
});
