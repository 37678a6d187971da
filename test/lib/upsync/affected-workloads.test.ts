import { expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { workloadKindsWith } from "../../../lib/api/workload-kinds.ts";
import { type ObjectKey, workloadKey } from "../../../lib/model/key.ts";
import { upsyncOriginMetadata } from "../../../lib/sync/ownership/upsync-origin.ts";
import { createAffectedByOrigin } from "../../../lib/upsync/affected-workloads.ts";
import { deployments, tenant } from "../sync/paper-world.ts";
import { aBirthplace, aDeployment } from "./builders.ts";

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

const born = (name: string, registration: string) =>
  aDeployment({ name, annotations: upsyncOriginMetadata(aBirthplace({ logicalCluster: tenant, name, registration })) });
const listed: string[] = [];
const concerned = createAffectedByOrigin({
  types: workloadKindsWith(),
  list: async (_cluster, { plural }) => {
    listed.push(plural);
    return [born("web", "east"), born("api", "west"), aDeployment({ name: "own" })];
  },
});

it("how a cluster is concerns what was born there, and whoever looks for more", async () => {
  const web = workloadKey(tenant, { type: deployments, namespace: "shop", name: "web" });
  expect(await concerned(east, aRegistration(), signal)).toEqual([east, web]);
  expect(listed).toEqual(["deployments"]);
});

it("concerns nobody else where a cluster opts in to nothing, or goes", async () => {
  listed.length = 0;
  expect(await concerned(east, { ...aRegistration(), spec: { location: "here" } }, signal)).toEqual([]);
  expect(await concerned(east, aRegistration({ deletionTimestamp: "2030-01-01T00:00:00Z" }), signal)).toEqual([]);
  expect(listed).toEqual([]);
});
