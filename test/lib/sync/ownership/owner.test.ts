import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import {
  belongsTo,
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

/** A copy with the marks of an origin, by default ours; what is given takes the place of what it has. */
function aCopy(origin: Owner = ours, change: Partial<KubeObject> = {}): KubeObject {
  const { labels, annotations } = ownershipMetadata(origin);
  const metadata = { name: "web", namespace: "tmc-shop", labels: { ...labels }, annotations: { ...annotations } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata, ...change };
}

function withMarks(labels: Record<string, string>, annotations: Record<string, string>): KubeObject {
  return { ...aCopy(), metadata: { name: "web", labels, annotations } };
}

const marks = ownershipMetadata(ours);

it("a tenant's mark is a label's value, the same for a tenant and for nobody else", () => {
  const mark = tenantLabelValue(ours.hub, ours.logicalCluster);
  expect(mark).toMatch(/^[a-z0-9]([a-z0-9]{0,61}[a-z0-9])?$/);
  const others = [
    ["", ""],
    [ours.hub, ""],
    ["", ours.logicalCluster],
    [ours.logicalCluster, ours.hub],
    [ours.hub + ours.logicalCluster, ""],
  ].map(([hub = "", cluster = ""]) => tenantLabelValue(hub, cluster));
  expect(new Set([mark, ...others]).size).toBe(others.length + 1);
});

it("what was marked leads back to its origin", () => {
  expect(ownerOf(aCopy())).toEqual(ours);
});

it("marks are the same bytes, in whatever order the origin's fields stand", () => {
  const turned = Object.fromEntries(Object.entries(ours).toReversed()) as Owner;
  expect(JSON.stringify(ownershipMetadata(turned))).toBe(JSON.stringify(marks));
});

describe("rubbish in the annotation is no origin", () => {
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
  ])("%s", (text) => {
    const object = withMarks({ ...marks.labels }, { [ownerAnnotation]: text });
    expect(ownerOf(object)).toBeUndefined();
    expect(belongsTo(object, ours)).toBe(false);
  });

  it("nor is no metadata at all", () => {
    expect(ownerOf({ metadata: {} })).toBeUndefined();
  });
});

describe("an object is ours", () => {
  it.each<[string, KubeObject]>([
    ["when label and annotation say so", aCopy()],
    ["when it is shown in another version of its API", aCopy({ ...ours, apiVersion: "apps/v1beta2" })],
    [
      "whatever others have written beside the marks",
      withMarks({ ...marks.labels, app: "web" }, { ...marks.annotations, "example.com/a": "b" }),
    ],
  ])("%s", (_, object) => {
    expect(belongsTo(object, ours)).toBe(true);
    expect(whyNotOwned(object, ours)).toBe("it is its copy");
  });
});

describe("an object is not ours, and why is said without a word about other tenants", () => {
  const notMade = "it was not made by TMC";
  it.each<[string, KubeObject, string]>([
    ["it has no marks", withMarks({}, {}), notMade],
    ["it has only the label", withMarks({ ...marks.labels }, {}), notMade],
    ["it has only the annotation", withMarks({}, { ...marks.annotations }), notMade],
    ["another hub made it", aCopy({ ...ours, hub: "other" }), "it belongs to another control plane"],
    ["another tenant has it", aCopy({ ...ours, logicalCluster: "other" }), "it belongs to another logical cluster"],
    [
      "the label is another tenant's",
      withMarks({ [syncedLabel]: tenantLabelValue(ours.hub, "other") }, { ...marks.annotations }),
      "its label and its annotation name different owners",
    ],
    ["it came by another registration", aCopy({ ...ours, registration: "west" }), "it belongs to registration west"],
    ["it has another namespace", aCopy({ ...ours, namespace: "till" }), "it belongs to Deployment till/web"],
    ["it has another name", aCopy({ ...ours, name: "api" }), "it belongs to Deployment shop/api"],
    ["it is of another kind", aCopy({ ...ours, kind: "StatefulSet" }), "it belongs to StatefulSet shop/web"],
    ["it is of another group", aCopy({ ...ours, apiVersion: "example.com/v1" }), "it belongs to Deployment shop/web"],
    [
      "somebody wrote a novel into it",
      aCopy({ ...ours, registration: "no\nname".repeat(100) }),
      "it belongs to registration ?",
    ],
  ])("%s", (_, object, words) => {
    expect(belongsTo(object, ours)).toBe(false);
    expect(whyNotOwned(object, ours)).toBe(words);
  });

  it.each<[string, Partial<KubeObject>]>([
    ["a ReplicaSet with its Deployment's marks", { kind: "ReplicaSet" }],
    ["Endpoints with their Service's marks", { apiVersion: "v1", kind: "Endpoints" }],
    ["a copy of the copy under another name", { metadata: { ...aCopy().metadata, name: "web-2" } }],
  ])("%s", (_, change) => {
    const object = aCopy(ours, change);
    expect(belongsTo(object, ours)).toBe(false);
    expect(whyNotOwned(object, ours)).toBe("it was not made by TMC, only marked like something that was");
  });
});
