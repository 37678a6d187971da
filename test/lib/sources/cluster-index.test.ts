import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { createClusterSourceFeed } from "../../../lib/relay/watch/cluster-source-watch.ts";
import { type ClusterIndex, type ClusterIndexConfig, createClusterIndex } from "../../../lib/sources/cluster-index.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  syncTargets,
} from "../../../lib/sources/source-kinds.ts";
import { aClusterRegistration, aControlPlane, aControlPlaneRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

const createTestIndex = (config: Partial<ClusterIndexConfig> = {}): ClusterIndex =>
  createClusterIndex("abc", {
    config: { sources: ["clusterregistration", "synctarget"], namespaces: undefined, template: undefined, ...config },
    clock: createManualClock(),
  });
const versioned = <T extends KubeObject>(object: T, resourceVersion: string): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
});
const origin = { source: "synctarget", namespace: "", name: "east" } as const;

describe("createClusterIndex", () => {
  it("the index has synced once each type has been listed", () => {
    const index = createTestIndex();
    index.replace(clusterRegistrations, []);
    expect(index.hasSynced()).toBe(false);
    index.replace(syncTargets, []);
    expect(index.hasSynced()).toBe(true);
  });
  it("the first source gets a name, and the next one gets it after the deletion", () => {
    const index = createTestIndex();
    index.upsert(syncTargets, aSyncTarget("east"));
    index.upsert(clusterRegistrations, aClusterRegistration("east"));
    expect([index.names(), index.find("east")?.origin.source]).toEqual([["east"], "clusterregistration"]);
    expect(index.remove(clusterRegistrations, { namespace: "", name: "east" })).toEqual(["east"]);
    expect(index.find("east")?.origin.source).toBe("synctarget");
    expect(index.remove(syncTargets, { namespace: "", name: "east" })).toEqual(["east"]);
    expect([index.names(), index.find("east")]).toEqual([[], undefined]);
  });
  it("a list wins with any version, except over an object that is newer than the list itself", () => {
    const index = createTestIndex();
    const cordoned = aSyncTarget("east", { spec: { unschedulable: true } });
    index.upsert(syncTargets, versioned(cordoned, "9"));
    index.replace(syncTargets, [versioned(aSyncTarget("east"), "7")], "8");
    expect(index.find("east")?.registration.spec.unschedulable).toBe(true);
    index.replace(syncTargets, [versioned(aSyncTarget("east"), "7")], "100");
    expect(index.find("east")?.registration.spec.unschedulable).not.toBe(true);
  });
  it("the answer of a request wins with any version, unless something was stored after the request", () => {
    const index = createTestIndex();
    index.upsert(syncTargets, versioned(aSyncTarget("east"), "9"));
    const atRequest = index.objectOf(origin);
    expect(index.upsert(syncTargets, versioned(aSyncTarget("east"), "4"), atRequest)).toEqual(["east"]);
    index.upsert(syncTargets, versioned(aSyncTarget("east"), "6"));
    expect(index.upsert(syncTargets, versioned(aSyncTarget("east"), "5"), atRequest)).toEqual([]);
  });
  it("a feed reports a cluster whose object went back as deleted and new, so that its old version is dropped", () => {
    const events: string[] = [];
    const report = (event: string) => (object: KubeObject) =>
      void events.push(`${event} ${object.metadata.resourceVersion}`);
    const feed = createClusterSourceFeed(createTestIndex({ sources: ["clusterregistration"] }), {
      listed: (objects) => void events.push(`listed ${objects.map(({ metadata }) => metadata.resourceVersion)}`),
      changed: report("changed"),
      deleted: report("deleted"),
    });
    feed.listed(clusterRegistrations, [versioned(aClusterRegistration("east"), "90")], "100");
    feed.listed(clusterRegistrations, [versioned(aClusterRegistration("east"), "40")], "1000");
    expect(events).toEqual(["listed 90", "deleted 90", "listed 40"]);
  });
  it("the index ignores older versions of an object, but not of another object with the same name", () => {
    const index = createTestIndex();
    index.upsert(syncTargets, versioned(aSyncTarget("east", { spec: { unschedulable: true } }), "9"));
    expect(index.upsert(syncTargets, versioned(aSyncTarget("east"), "8"))).toEqual([]);
    expect(index.find("east")?.registration.spec.unschedulable).toBe(true);
    const other = aSyncTarget("east", { metadata: { uid: "other" } });
    expect(index.upsert(syncTargets, versioned(other, "3"))).toEqual(["east"]);
    expect(index.find("east")?.registration.spec.unschedulable).toBe(false);
  });
  it("an object that is missing from a list is kept and marked stale", () => {
    const index = createTestIndex();
    index.replace(syncTargets, [versioned(aSyncTarget("east"), "1")]);
    index.replace(syncTargets, []);
    expect([index.isStale(origin), index.names()]).toEqual([true, ["east"]]);
    index.replace(syncTargets, [versioned(aSyncTarget("east"), "1")]);
    expect(index.isStale(origin)).toBe(false);
  });
  it("objects outside the namespace scope are ignored", () => {
    const index = createTestIndex({ sources: ["controlplaneendpoint"], namespaces: ["team-a"] });
    const inNamespace = (namespace?: string) => anEndpoint("east", { metadata: namespace ? { namespace } : {} });
    expect(index.upsert(controlPlaneEndpoints, inNamespace("team-b"))).toEqual([]);
    expect(index.upsert(controlPlaneEndpoints, inNamespace("team-a"))).toEqual(["east"]);
    expect(index.upsert(controlPlaneEndpoints, inNamespace())).toEqual(["east"]);
  });
  it("a changed ControlPlane or endpoint affects all registrations", () => {
    const index = createTestIndex({ sources: ["controlplaneregistration"] });
    const refer = (name: string) => aControlPlaneRegistration(name, { spec: { controlPlaneRef: { name: "plane" } } });
    for (const name of ["one", "two"]) index.upsert(controlPlaneRegistrations, refer(name));
    expect(index.find("one")?.pending?.reason).toBe("ControlPlaneNotFound");
    const plane = aControlPlane("plane", { spec: { endpointRef: { name: "gate" } } });
    expect(index.upsert(controlPlanes, plane)).toEqual(["one", "two"]);
    expect(index.find("one")?.pending?.reason).toBe("EndpointPending");
    const gate = anEndpoint("gate", { spec: { endpoint: "https://east.example" } });
    expect(index.upsert(controlPlaneEndpoints, gate)).toEqual(["one", "two"]);
    expect(index.find("one")?.endpoint).toBe("https://east.example");
  });
});

describe("createClusterSourceFeed", () => {
  function createTestFeed(config?: Partial<ClusterIndexConfig>) {
    const index = createTestIndex(config);
    const events: string[] = [];
    const titleOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
    const feed = createClusterSourceFeed(index, {
      listed: (objects) => events.push(`listed ${objects.map(titleOf).join(", ")}`.trim()),
      changed: (object) => events.push(`changed ${titleOf(object)}`),
      deleted: (object) => events.push(`deleted ${titleOf(object)}`),
    });
    return { feed, events };
  }

  it("the feed sends nothing before every type has been listed", () => {
    const { feed, events } = createTestFeed();
    feed.listed(syncTargets, [aSyncTarget("east")]);
    feed.changed(syncTargets, aSyncTarget("west"));
    expect(events).toEqual([]);
    feed.listed(clusterRegistrations, [aClusterRegistration("one")]);
    expect(events).toEqual(["listed SyncTarget east, ClusterRegistration one, SyncTarget west"]);
  });
  it("the feed sends the deletion of an object before another object replaces it", () => {
    const { feed, events } = createTestFeed();
    feed.listed(syncTargets, [aSyncTarget("east", { metadata: { uid: "target" } })]);
    feed.listed(clusterRegistrations, []);
    const registration = aClusterRegistration("east", {}, { uid: "registration" });
    feed.changed(clusterRegistrations, registration);
    feed.deleted(clusterRegistrations, registration);
    expect(events.slice(1)).toEqual([
      "deleted SyncTarget east",
      "changed ClusterRegistration east",
      "deleted ClusterRegistration east",
      "changed SyncTarget east",
    ]);
  });
  it("the feed sends a list without missing objects and no deletions for them", () => {
    const { feed, events } = createTestFeed({ sources: ["synctarget"] });
    feed.listed(syncTargets, [aSyncTarget("east"), aSyncTarget("west")]);
    feed.listed(syncTargets, [aSyncTarget("west")]);
    expect(events).toEqual(["listed SyncTarget east, SyncTarget west", "listed SyncTarget west"]);
  });
});
