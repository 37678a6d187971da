import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { beforeEach, describe, expect, test } from "vitest";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { traceOfObject } from "../../../lib/relay/projection.ts";
import { type BirthAttention, bothHear, createBirthAttention } from "../../../lib/relay/upsync-subscriptions.ts";

let watched: Map<string, readonly string[]>;
let attention: BirthAttention;
beforeEach(() => {
  watched = new Map();
  const idOf = ({ logicalCluster, name }: ObjectKey): string => `${logicalCluster}/${name}`;
  attention = createBirthAttention(
    {
      subscribe: (registration, optIns) =>
        void watched.set(
          idOf(registration),
          optIns.map(({ type }) => type.kind),
        ),
      unsubscribe: (registration) => void watched.delete(idOf(registration)),
    },
    workloadKindsWith(),
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
const see = (object: KubeObject, cluster = "one"): void => attention.changed("ClusterRegistration", cluster, object);
const watching = () => Object.fromEntries(watched);

describe("clusters are watched for what is born there", () => {
  test("for the types that they opt in to and serve", () => {
    see(aCluster("east", { kinds: ["Deployment", "StatefulSet"] }));
    see(aCluster("west", { kinds: [] }));
    see(aCluster("north", { kinds: ["StatefulSet"] }));
    expect(watching()).toEqual({ "one/east": ["Deployment"] });
    see(aCluster("east", { kinds: ["Deployment", "StatefulSet"], served: ["Deployment", "StatefulSet"] }));
    expect(watching()).toEqual({ "one/east": ["Deployment", "StatefulSet"] });
  });

  test("whatever else a relay has not kept of their registrations", () => {
    attention.listed("ClusterRegistration", "one", [
      traceOfObject({ ...aCluster("west"), spec: { location: "there" } }),
      traceOfObject(aCluster("east")),
    ]);
    expect(watching()).toEqual({ "one/east": ["Deployment"] });
  });

  test("while they are heard from and opt in", () => {
    see(aCluster("east"));
    see(aCluster("west"));
    see(aCluster("east", { isReady: false }));
    see(aCluster("west", { kinds: [] }));
    expect(watching()).toEqual({});
    see(aCluster("east"));
    expect(Object.keys(watching())).toEqual(["one/east"]);
  });

  test("no more when their registration has gone, or is in no list", () => {
    for (const name of ["east", "west"]) see(aCluster(name));
    see(aCluster("east"), "two");
    attention.deleted("ClusterRegistration", "one", aCluster("east"));
    attention.listed("ClusterRegistration", "one", [aCluster("north")]);
    expect(Object.keys(watching()).toSorted()).toEqual(["one/north", "two/east"]);
    attention.released("two");
    expect(Object.keys(watching())).toEqual(["one/north"]);
  });

  test("by registrations alone", () => {
    attention.changed("WorkloadPlacement", "one", aCluster("east"));
    attention.listed("WorkloadPlacement", "one", [aCluster("east")]);
    expect(watching()).toEqual({});
    see(aCluster("east"));
    attention.deleted("WorkloadPlacement", "one", aCluster("east"));
    expect(Object.keys(watching())).toEqual(["one/east"]);
  });
});

test("whoever heard of it before still does", () => {
  const heard: string[] = [];
  const listener = bothHear(
    {
      listed: (kind, cluster) => void heard.push(`${kind} listed in ${cluster}`),
      alive: (what) => void heard.push(`${what} alive`),
    },
    attention,
  );
  listener.listed?.("ClusterRegistration", "one", [aCluster("east")]);
  listener.changed?.("ClusterRegistration", "one", aCluster("west"));
  listener.alive?.("ClusterRegistration", "one");
  expect(heard).toEqual(["ClusterRegistration listed in one", "ClusterRegistration alive"]);
  expect(Object.keys(watching())).toEqual(["one/east", "one/west"]);
});
