import { describe, expect, it } from "vitest";
import { formatSourceOrigin, toSourceCluster, withObservedStatus } from "../../../lib/sources/cluster.ts";
import { readControlPlaneEndpoint } from "../../../lib/sources/control-plane.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aStatus } from "../registration/registrations.ts";
import { anEndpoint, aSyncTarget, ready } from "./objects.ts";

const context = { logicalCluster: "abc", template: undefined, nowMs: Date.parse("2026-01-01T00:00:10Z") };
const target = toSourceCluster(
  readSyncTarget(
    aSyncTarget("east", { status: { conditions: [ready()], lastSyncerHeartbeatTime: "2026-01-01T00:00:00Z" } }),
    context,
  ),
);

describe("withObservedStatus", () => {
  it("the observed status replaces the status in the object", () => {
    const observed = withObservedStatus(target, aStatus({ status: "False", reason: "ClusterUnhealthy" }));
    expect(observed.facts).toMatchObject({ ready: "False", readyReason: "ClusterUnhealthy" });
  });

  it("the observed status does not change with time and does not affect the access", () => {
    const observed = withObservedStatus(target, aStatus());
    expect([target.changesAtMs, observed.changesAtMs]).toEqual([Date.parse("2026-01-01T00:01:00Z"), undefined]);
    expect([observed.id, observed.accessHash, observed.key]).toEqual([target.id, target.accessHash, target.key]);
  });

  it("a pending cluster is not Ready even if its observed status is", () => {
    const pending = toSourceCluster(readControlPlaneEndpoint(anEndpoint("east"), context));
    expect(withObservedStatus(pending, aStatus()).facts).toMatchObject({
      ready: "Unknown",
      readyReason: "EndpointPending",
    });
  });
});

describe("accessHash", () => {
  const hashOf = (server: string, uid = "1", name = "east") =>
    toSourceCluster(
      readControlPlaneEndpoint(anEndpoint(name, { metadata: { uid }, spec: { endpoint: server } }), context),
    ).accessHash;
  const first = hashOf("https://a.example");

  it.each([
    { what: "address", hash: hashOf("https://b.example") },
    { what: "object of the same name", hash: hashOf("https://a.example", "2") },
    { what: "name", hash: hashOf("https://a.example", "1", "west") },
    { what: "pending reason", hash: hashOf("") },
  ])("the access hash changes with the $what", ({ hash }) => {
    expect(hash).not.toBe(first);
  });

  it("the access hash is equal for equal access", () => {
    expect(hashOf("https://a.example/")).toBe(first);
  });
});

it.each([
  { cluster: "abc", namespace: "", expected: "abc|synctarget/east" },
  { cluster: "", namespace: "team-a", expected: "|synctarget/team-a/east" },
])("formatSourceOrigin returns $expected", ({ cluster, namespace, expected }) => {
  expect(formatSourceOrigin({ logicalCluster: cluster, source: "synctarget", namespace, name: "east" })).toBe(expected);
});
