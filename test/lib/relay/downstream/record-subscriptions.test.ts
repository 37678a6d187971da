import { beforeEach, describe, expect, test } from "vitest";
import { allWorkloadTypes, typeId } from "../../../../lib/api/workload-kinds.ts";
import type { WorkloadSync } from "../../../../lib/api/workload-sync.ts";
import type { ObjectKey } from "../../../../lib/model/key.ts";
import {
  createRecordSubscriptions,
  type RecordSubscriptions,
} from "../../../../lib/relay/downstream/record-subscriptions.ts";
import { recordResource } from "../../../../lib/upstream/watched-resources.ts";

let watched: Map<string, Set<string>>;
let subscriptions: RecordSubscriptions;
beforeEach(() => {
  watched = new Map();
  const idOf = ({ logicalCluster, name }: ObjectKey): string => `${logicalCluster}/${name}`;
  subscriptions = createRecordSubscriptions(
    {
      subscribe: (registration, types) => {
        const known = watched.get(idOf(registration)) ?? new Set();
        watched.set(idOf(registration), new Set([...known, ...types.map(typeId)]));
      },
      unsubscribe: (registration) => void watched.delete(idOf(registration)),
    },
    allWorkloadTypes(),
  );
});

type RecordFacts = Readonly<{ clusters?: readonly string[]; kind?: string; config?: string }>;
const aRecord = (name: string, { clusters = [], kind = "Deployment", config }: RecordFacts = {}): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name, namespace: "shop" },
  spec: {
    workload: { apiVersion: "apps/v1", kind, name },
    clusters: [...clusters],
    ...(config === undefined ? {} : { references: [{ kind: "ConfigMap", name: config }] }),
  },
});
const upsert = (record: WorkloadSync, logicalCluster = "one"): void =>
  subscriptions.cache.upsert(recordResource.type, logicalCluster, record);
const remove = (name: string): void =>
  subscriptions.cache.remove({ type: recordResource.type, logicalCluster: "one", namespace: "shop", name });
const watching = () => Object.fromEntries([...watched].map(([cluster, types]) => [cluster, [...types].toSorted()]));

describe("RecordSubscriptions", () => {
  test("watches the clusters of a sync record, for the types of the workload and its dependencies", () => {
    upsert(aRecord("web", { clusters: ["east"], config: "prices" }));
    upsert(aRecord("db", { clusters: ["east", "west"], kind: "StatefulSet" }));
    expect(watching()).toEqual({
      "one/east": ["configmaps.v1.", "deployments.v1.apps", "statefulsets.v1.apps"],
      "one/west": ["statefulsets.v1.apps"],
    });
  });

  test("watches a cluster as long as any sync record names it", () => {
    upsert(aRecord("web", { clusters: ["east"] }));
    upsert(aRecord("api", { clusters: ["east"] }));
    remove("web");
    expect(Object.keys(watching())).toEqual(["one/east"]);
    upsert(aRecord("api", { clusters: ["west"] }));
    expect(Object.keys(watching())).toEqual(["one/west"]);
    remove("api");
    expect(watching()).toEqual({});
  });

  test("ends the watches of a released tenant and of no other", () => {
    upsert(aRecord("web", { clusters: ["east"] }), "one");
    upsert(aRecord("web", { clusters: ["east"] }), "two");
    subscriptions.release("one");
    expect(Object.keys(watching())).toEqual(["two/east"]);
  });

  test("ends the watch of a cluster whose sync records are missing from a list", () => {
    upsert(aRecord("web", { clusters: ["east"] }));
    upsert(aRecord("web", { clusters: ["west"] }), "two");
    subscriptions.cache.replace(recordResource.type, "one", [aRecord("api", { clusters: ["north"] })]);
    expect(Object.keys(watching()).toSorted()).toEqual(["one/north", "two/west"]);
  });

  test("does not watch for a workload of an unknown type", () => {
    upsert(aRecord("unknown", { clusters: ["east"], kind: "Unknown" }));
    expect(watching()).toEqual({});
  });
});

test("finds the workloads whose sync records name a dependency", () => {
  upsert(aRecord("web", { clusters: ["east"], config: "prices" }));
  upsert(aRecord("api", { clusters: ["east"] }));
  const prices = { logicalCluster: "one", namespace: "shop", kind: "ConfigMap", name: "prices" } as const;
  expect(subscriptions.referrers(prices)).toEqual([
    { logicalCluster: "one", kind: "Workload", name: "deployments.v1.apps/shop/web" },
  ]);
  remove("web");
  expect(subscriptions.referrers(prices)).toEqual([]);
});
