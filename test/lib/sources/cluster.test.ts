import { describe, expect, it } from "vitest";
import { asCluster, asObserved, formatOrigin } from "../../../lib/sources/cluster.ts";
import { readControlPlaneEndpoint } from "../../../lib/sources/control-plane.ts";
import { readSyncTarget } from "../../../lib/sources/sync-target.ts";
import { aStatus } from "../registration/registrations.ts";
import { anEndpoint, aSyncTarget, ready } from "./objects.ts";

const context = { cluster: "abc", template: undefined, nowMs: Date.parse("2026-01-01T00:00:10Z") };
const target = asCluster(
  readSyncTarget(
    aSyncTarget("east", { status: { conditions: [ready()], lastSyncerHeartbeatTime: "2026-01-01T00:00:00Z" } }),
    context,
  ),
);

describe("what TMC itself has seen of a cluster", () => {
  it("takes the place of what others say of it", () => {
    const observed = asObserved(target, aStatus({ status: "False", reason: "ClusterUnhealthy" }));
    expect(observed.facts).toMatchObject({ ready: "False", readyReason: "ClusterUnhealthy" });
  });

  it("does not change by time alone, nor change the way in", () => {
    const observed = asObserved(target, aStatus());
    expect([target.changesAtMs, observed.changesAtMs]).toEqual([Date.parse("2026-01-01T00:01:00Z"), undefined]);
    expect([observed.id, observed.digest, observed.key]).toEqual([target.id, target.digest, target.key]);
  });

  it("makes no cluster Ready that has no way in", () => {
    const pending = asCluster(readControlPlaneEndpoint(anEndpoint("east"), context));
    expect(asObserved(pending, aStatus()).facts).toMatchObject({ ready: "Unknown", readyReason: "EndpointPending" });
  });
});

describe("the digest of a cluster", () => {
  const digestOf = (server: string, uid = "1", name = "east") =>
    asCluster(readControlPlaneEndpoint(anEndpoint(name, { metadata: { uid }, spec: { endpoint: server } }), context))
      .digest;
  const first = digestOf("https://a.example");

  it.each([
    { what: "address", digest: digestOf("https://b.example") },
    { what: "object of the same name", digest: digestOf("https://a.example", "2") },
    { what: "name", digest: digestOf("https://a.example", "1", "west") },
    { what: "hindrance", digest: digestOf("") },
  ])("is another one for another $what", ({ digest }) => {
    expect(digest).not.toBe(first);
  });

  it("is the same for the same", () => {
    expect(digestOf("https://a.example/")).toBe(first);
  });
});

it.each([
  { cluster: "abc", namespace: "", expected: "abc|synctarget/east" },
  { cluster: "", namespace: "team-a", expected: "|synctarget/team-a/east" },
])("an origin is one text: $expected", ({ cluster, namespace, expected }) => {
  expect(formatOrigin({ cluster, source: "synctarget", namespace, name: "east" })).toBe(expected);
});
