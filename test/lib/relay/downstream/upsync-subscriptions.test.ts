import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { allWorkloadTypes } from "../../../../lib/api/workload-kinds.ts";
import type { ObjectKey } from "../../../../lib/model/key.ts";
import {
  combineListeners,
  createUnreadyListener,
  createUpsyncSubscriptions,
  type RegistrationListener,
} from "../../../../lib/relay/downstream/upsync-subscriptions.ts";
import { projectObject } from "../../../../lib/relay/watch/projection.ts";

let watched: Map<string, readonly string[]>;
let subscriptions: RegistrationListener;
beforeEach(() => {
  watched = new Map();
  const idOf = ({ logicalCluster, name }: ObjectKey): string => `${logicalCluster}/${name}`;
  subscriptions = createUpsyncSubscriptions(
    {
      subscribe: (registration, optIns) =>
        void watched.set(
          idOf(registration),
          optIns.map(({ type }) => type.kind),
        ),
      unsubscribe: (registration) => void watched.delete(idOf(registration)),
    },
    allWorkloadTypes(),
  );
});

const aCluster = (
  name: string,
  { kinds = ["Deployment"], isReady = true, served = ["Deployment"] } = {},
): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name },
  spec: { location: "here", upsync: kinds.map((kind) => ({ apiVersion: "apps/v1", kind })) },
  status: {
    apis: [{ groupVersion: "apps/v1", kinds: served }],
    conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
  },
});
const apply = (object: KubeObject, logicalCluster = "one"): void =>
  subscriptions.changed("ClusterRegistration", logicalCluster, object);
const watching = () => Object.fromEntries(watched);

describe("UpsyncSubscriptions", () => {
  test("watches the types that a cluster opts in to and serves", () => {
    apply(aCluster("east", { kinds: ["Deployment", "StatefulSet"] }));
    apply(aCluster("west", { kinds: [] }));
    apply(aCluster("north", { kinds: ["StatefulSet"] }));
    expect(watching()).toEqual({ "one/east": ["Deployment"] });
    apply(aCluster("east", { kinds: ["Deployment", "StatefulSet"], served: ["Deployment", "StatefulSet"] }));
    expect(watching()).toEqual({ "one/east": ["Deployment", "StatefulSet"] });
  });

  test("works with registrations that the relay has projected", () => {
    subscriptions.listed("ClusterRegistration", "one", [
      projectObject({ ...aCluster("west"), spec: { location: "there" } }),
      projectObject(aCluster("east")),
    ]);
    expect(watching()).toEqual({ "one/east": ["Deployment"] });
  });

  test("watches a cluster while it is Ready and opts in", () => {
    apply(aCluster("east"));
    apply(aCluster("west"));
    apply(aCluster("east", { isReady: false }));
    apply(aCluster("west", { kinds: [] }));
    expect(watching()).toEqual({});
    apply(aCluster("east"));
    expect(Object.keys(watching())).toEqual(["one/east"]);
  });

  test("ends the watch when the registration is deleted, missing from a list, or of a released tenant", () => {
    for (const name of ["east", "west"]) apply(aCluster(name));
    apply(aCluster("east"), "two");
    subscriptions.deleted("ClusterRegistration", "one", aCluster("east"));
    subscriptions.listed("ClusterRegistration", "one", [aCluster("north")]);
    expect(Object.keys(watching()).toSorted()).toEqual(["one/north", "two/east"]);
    subscriptions.released("two");
    expect(Object.keys(watching())).toEqual(["one/north"]);
  });

  test("ignores objects of other kinds than ClusterRegistration", () => {
    subscriptions.changed("WorkloadPlacement", "one", aCluster("east"));
    subscriptions.listed("WorkloadPlacement", "one", [aCluster("east")]);
    expect(watching()).toEqual({});
    apply(aCluster("east"));
    subscriptions.deleted("WorkloadPlacement", "one", aCluster("east"));
    expect(Object.keys(watching())).toEqual(["one/east"]);
  });
});

describe("createUnreadyListener", () => {
  test("ends the watches of a cluster that is not Ready, is gone, or whose tenant is released", () => {
    const ended: string[] = [];
    const listener = createUnreadyListener(({ logicalCluster, name }) => void ended.push(`${logicalCluster}/${name}`));
    const change = (name: string, isReady: boolean): void =>
      listener.changed("ClusterRegistration", "one", aCluster(name, { isReady }));
    for (const name of ["east", "west", "north"]) change(name, true);
    expect(ended.splice(0)).toEqual([]);
    change("east", false);
    expect(ended.splice(0)).toEqual(["one/east"]);
    listener.listed("ClusterRegistration", "one", [aCluster("east"), aCluster("west")]);
    expect(ended.splice(0)).toEqual(["one/north"]);
    listener.deleted("ClusterRegistration", "one", aCluster("west"));
    expect(ended.splice(0)).toEqual(["one/west"]);
    listener.released("one");
    expect(ended.splice(0)).toEqual(["one/east"]);
    listener.changed("WorkloadPlacement", "one", aCluster("east", { isReady: false }));
    expect(ended).toEqual([]);
  });
});

test("combineListeners calls both listeners", () => {
  const calls: string[] = [];
  const listener = combineListeners(
    {
      listed: (kind, logicalCluster) => void calls.push(`${kind} listed in ${logicalCluster}`),
      alive: (what) => void calls.push(`${what} alive`),
    },
    subscriptions,
  );
  listener.listed?.("ClusterRegistration", "one", [aCluster("east")]);
  listener.changed?.("ClusterRegistration", "one", aCluster("west"));
  listener.alive?.("ClusterRegistration", "one");
  expect(calls).toEqual(["ClusterRegistration listed in one", "ClusterRegistration alive"]);
  expect(Object.keys(watching())).toEqual(["one/east", "one/west"]);
});
