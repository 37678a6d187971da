import { beforeEach, describe, expect, test } from "vitest";
import { typeId, workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { createRecordAttention, type RecordAttention } from "../../../lib/relay/record-subscriptions.ts";
import { recordLane } from "../../../lib/upstream/watched-resources.ts";

let watched: Map<string, Set<string>>;
let attention: RecordAttention;
beforeEach(() => {
  watched = new Map();
  const idOf = ({ logicalCluster, name }: ObjectKey): string => `${logicalCluster}/${name}`;
  attention = createRecordAttention(
    {
      want: (registration, types) => {
        const known = watched.get(idOf(registration)) ?? new Set();
        watched.set(idOf(registration), new Set([...known, ...types.map(typeId)]));
      },
      unwant: (registration) => void watched.delete(idOf(registration)),
    },
    workloadKindsWith(),
  );
});

type Wanted = Readonly<{ clusters?: readonly string[]; kind?: string; config?: string }>;
const aRecord = (name: string, { clusters = [], kind = "Deployment", config }: Wanted = {}): WorkloadSync => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadSync",
  metadata: { name, namespace: "shop" },
  spec: {
    workload: { apiVersion: "apps/v1", kind, name },
    clusters: [...clusters],
    ...(config === undefined ? {} : { references: [{ kind: "ConfigMap", name: config }] }),
  },
});
const see = (record: WorkloadSync, cluster = "one"): void => attention.cache.takeSeen(recordLane.type, cluster, record);
const lose = (name: string): void =>
  attention.cache.takeGone({ type: recordLane.type, logicalCluster: "one", namespace: "shop", name });
const watching = () => Object.fromEntries([...watched].map(([cluster, types]) => [cluster, [...types].toSorted()]));

describe("clusters are watched", () => {
  test("that a record names, for the workload's type and for those that come along", () => {
    see(aRecord("web", { clusters: ["east"], config: "prices" }));
    see(aRecord("db", { clusters: ["east", "west"], kind: "StatefulSet" }));
    expect(watching()).toEqual({
      "one/east": ["configmaps.v1.", "deployments.v1.apps", "statefulsets.v1.apps"],
      "one/west": ["statefulsets.v1.apps"],
    });
  });

  test("as long as any record names them", () => {
    see(aRecord("web", { clusters: ["east"] }));
    see(aRecord("api", { clusters: ["east"] }));
    lose("web");
    expect(Object.keys(watching())).toEqual(["one/east"]);
    see(aRecord("api", { clusters: ["west"] }));
    expect(Object.keys(watching())).toEqual(["one/west"]);
    lose("api");
    expect(watching()).toEqual({});
  });

  test("of one tenant by that tenant's records alone", () => {
    see(aRecord("web", { clusters: ["east"] }), "one");
    see(aRecord("web", { clusters: ["east"] }), "two");
    attention.release("one");
    expect(Object.keys(watching())).toEqual(["two/east"]);
  });

  test("no more when a list does not have their records", () => {
    see(aRecord("web", { clusters: ["east"] }));
    see(aRecord("web", { clusters: ["west"] }), "two");
    attention.cache.takeList(recordLane.type, "one", [aRecord("api", { clusters: ["north"] })]);
    expect(Object.keys(watching()).toSorted()).toEqual(["one/north", "two/west"]);
  });

  test("not for a workload of a type that nobody looks after", () => {
    see(aRecord("strange", { clusters: ["east"], kind: "Strange" }));
    expect(watching()).toEqual({});
  });
});

test("what comes along leads to the workloads whose records name it", () => {
  see(aRecord("web", { clusters: ["east"], config: "prices" }));
  see(aRecord("api", { clusters: ["east"] }));
  const prices = { logicalCluster: "one", namespace: "shop", kind: "ConfigMap", name: "prices" } as const;
  expect(attention.referrers(prices)).toEqual([
    { logicalCluster: "one", kind: "Workload", name: "deployments.v1.apps/shop/web" },
  ]);
  lose("web");
  expect(attention.referrers(prices)).toEqual([]);
});
