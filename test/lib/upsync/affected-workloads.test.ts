import { expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import { type ObjectKey, workloadKey } from "../../../lib/model/key.ts";
import { upsyncOriginMetadata } from "../../../lib/sync/ownership/upsync-origin.ts";
import { createAffectedByOrigin } from "../../../lib/upsync/affected-workloads.ts";
import { deployments, tenant } from "../../support/in-memory-world.ts";
import { aDeployment, anOrigin } from "../../support/upsync-builders.ts";

const east: ObjectKey = { logicalCluster: tenant, kind: "ClusterRegistration", name: "east" };
const signal = new AbortController().signal;

function aRegistration(metadata: ClusterRegistration["metadata"] = {}): ClusterRegistration {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: { name: "east", ...metadata },
    spec: { location: "here", upsync: [{ apiVersion: "apps/v1", kind: "Deployment" }] },
  };
}

const upsynced = (name: string, registration: string) =>
  aDeployment({ name, annotations: upsyncOriginMetadata(anOrigin({ logicalCluster: tenant, name, registration })) });
const listed: string[] = [];
const affectedBy = createAffectedByOrigin({
  types: allWorkloadTypes(),
  list: async (_cluster, { plural }) => {
    listed.push(plural);
    return [upsynced("web", "east"), upsynced("api", "west"), aDeployment({ name: "own" })];
  },
});

it("a change of a cluster's health affects the workloads upsynced from it, and its registration", async () => {
  const web = workloadKey(tenant, { type: deployments, namespace: "shop", name: "web" });
  expect(await affectedBy(east, aRegistration(), signal)).toEqual([east, web]);
  expect(listed).toEqual(["deployments"]);
});

it("a change of a cluster's health affects no upsynced workloads if the cluster opts in to nothing or its registration is being deleted", async () => {
  listed.length = 0;
  expect(await affectedBy(east, { ...aRegistration(), spec: { location: "here" } }, signal)).toEqual([]);
  expect(await affectedBy(east, aRegistration({ deletionTimestamp: "2030-01-01T00:00:00Z" }), signal)).toEqual([]);
  expect(listed).toEqual([]);
});
