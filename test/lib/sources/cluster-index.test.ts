import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { createClusterTeller } from "../../../lib/relay/cluster-source-watch.ts";
import { createRoster, type Roster, type RosterConfig } from "../../../lib/sources/cluster-index.ts";
import {
  clusterRegistrations,
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  syncTargets,
} from "../../../lib/sources/source-kinds.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aClusterRegistration, aControlPlane, aControlPlaneRegistration, anEndpoint, aSyncTarget } from "./objects.ts";

const aRoster = (config: Partial<RosterConfig> = {}): Roster =>
  createRoster("abc", {
    config: { sources: ["clusterregistration", "synctarget"], namespaces: undefined, template: undefined, ...config },
    clock: createManualClock(),
  });
const versioned = <T extends KubeObject>(object: T, resourceVersion: string): T => ({
  ...object,
  metadata: { ...object.metadata, resourceVersion },
});
const origin = { source: "synctarget", namespace: "", name: "east" } as const;

describe("what watches tell of the objects of all sources", () => {
  it("is whole once each type has been listed", () => {
    const roster = aRoster();
    roster.takeList(clusterRegistrations, []);
    expect(roster.isWhole()).toBe(false);
    roster.takeList(syncTargets, []);
    expect(roster.isWhole()).toBe(true);
  });
  it("gives a name to the source that was named first, and back when that one has gone", () => {
    const roster = aRoster();
    roster.take(syncTargets, aSyncTarget("east"));
    roster.take(clusterRegistrations, aClusterRegistration("east"));
    expect([roster.names(), roster.find("east")?.origin.source]).toEqual([["east"], "clusterregistration"]);
    expect(roster.lose(clusterRegistrations, { namespace: "", name: "east" })).toEqual(["east"]);
    expect(roster.find("east")?.origin.source).toBe("synctarget");
    expect(roster.lose(syncTargets, { namespace: "", name: "east" })).toEqual(["east"]);
    expect([roster.names(), roster.find("east")]).toEqual([[], undefined]);
  });
  it("never goes back to an older version, and takes another object whatever its version", () => {
    const roster = aRoster();
    roster.take(syncTargets, versioned(aSyncTarget("east", { spec: { unschedulable: true } }), "9"));
    expect(roster.take(syncTargets, versioned(aSyncTarget("east"), "8"))).toEqual([]);
    expect(roster.find("east")?.registration.spec.unschedulable).toBe(true);
    const other = aSyncTarget("east", { metadata: { uid: "other" } });
    expect(roster.take(syncTargets, versioned(other, "3"))).toEqual(["east"]);
    expect(roster.find("east")?.registration.spec.unschedulable).toBe(false);
  });
  it("keeps what a list leaves out, in doubt, until it is seen again or known to be gone", () => {
    const roster = aRoster();
    roster.takeList(syncTargets, [versioned(aSyncTarget("east"), "1")]);
    roster.takeList(syncTargets, []);
    expect([roster.isDoubted(origin), roster.names()]).toEqual([true, ["east"]]);
    roster.takeList(syncTargets, [versioned(aSyncTarget("east"), "1")]);
    expect(roster.isDoubted(origin)).toBe(false);
  });
  it("passes over what is in other namespaces than those of the scope", () => {
    const roster = aRoster({ sources: ["controlplaneendpoint"], namespaces: ["team-a"] });
    const inNamespace = (namespace?: string) => anEndpoint("east", { metadata: namespace ? { namespace } : {} });
    expect(roster.take(controlPlaneEndpoints, inNamespace("team-b"))).toEqual([]);
    expect(roster.take(controlPlaneEndpoints, inNamespace("team-a"))).toEqual(["east"]);
    expect(roster.take(controlPlaneEndpoints, inNamespace())).toEqual(["east"]);
  });
  it("names every registration that a control plane or an endpoint may be of", () => {
    const roster = aRoster({ sources: ["controlplaneregistration"] });
    const refer = (name: string) => aControlPlaneRegistration(name, { spec: { controlPlaneRef: { name: "plane" } } });
    for (const name of ["one", "two"]) roster.take(controlPlaneRegistrations, refer(name));
    expect(roster.find("one")?.pending?.reason).toBe("ControlPlaneNotFound");
    const plane = aControlPlane("plane", { spec: { endpointRef: { name: "gate" } } });
    expect(roster.take(controlPlanes, plane)).toEqual(["one", "two"]);
    expect(roster.find("one")?.pending?.reason).toBe("EndpointPending");
    const gate = anEndpoint("gate", { spec: { endpoint: "https://east.example" } });
    expect(roster.take(controlPlaneEndpoints, gate)).toEqual(["one", "two"]);
    expect(roster.find("one")?.endpoint).toBe("https://east.example");
  });
});

describe("what a follower of clusters hears", () => {
  function aTeller(config?: Partial<RosterConfig>) {
    const roster = aRoster(config);
    const heard: string[] = [];
    const words = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
    const teller = createClusterTeller(roster, {
      listed: (objects) => heard.push(`listed ${objects.map(words).join(", ")}`.trim()),
      changed: (object) => heard.push(`changed ${words(object)}`),
      deleted: (object) => heard.push(`deleted ${words(object)}`),
    });
    return { teller, heard };
  }

  it("is nothing before every type has been listed", () => {
    const { teller, heard } = aTeller();
    teller.listed(syncTargets, [aSyncTarget("east")]);
    teller.changed(syncTargets, aSyncTarget("west"));
    expect(heard).toEqual([]);
    teller.listed(clusterRegistrations, [aClusterRegistration("one")]);
    expect(heard).toEqual(["listed SyncTarget east, ClusterRegistration one, SyncTarget west"]);
  });
  it("is that one object has gone before another is the cluster", () => {
    const { teller, heard } = aTeller();
    teller.listed(syncTargets, [aSyncTarget("east", { metadata: { uid: "target" } })]);
    teller.listed(clusterRegistrations, []);
    const registration = aClusterRegistration("east", {}, { uid: "registration" });
    teller.changed(clusterRegistrations, registration);
    teller.deleted(clusterRegistrations, registration);
    expect(heard.slice(1)).toEqual([
      "deleted SyncTarget east",
      "changed ClusterRegistration east",
      "deleted ClusterRegistration east",
      "changed SyncTarget east",
    ]);
  });
  it("is a list without those that it leaves out, which nobody has said to be gone", () => {
    const { teller, heard } = aTeller({ sources: ["synctarget"] });
    teller.listed(syncTargets, [aSyncTarget("east"), aSyncTarget("west")]);
    teller.listed(syncTargets, [aSyncTarget("west")]);
    expect(heard).toEqual(["listed SyncTarget east, SyncTarget west", "listed SyncTarget west"]);
  });
});
