import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../../../lib/install/wait.ts";
import { findCondition } from "../../../../lib/model/condition.ts";
import { syncTargets } from "../../../../lib/sources/source-kinds.ts";
import { parseConditions } from "../../../../lib/sources/view.ts";
import { crds, eventuallyOk } from "../../../contract/resources.ts";
import { syncTargetDefinition } from "../../sources/definitions.ts";
import { startTestWorkspace, type TestWorkspace, tmc } from "../support.ts";

let workspace: TestWorkspace;
beforeAll(async () => {
  workspace = await startTestWorkspace();
});
afterAll(() => workspace.stop());

it("tmc controller reads clusters from SyncTargets too with --cluster-source", async () => {
  const { client } = workspace;
  const { maybeNamespaced: _, ...type } = syncTargets;
  await client.create({ type: crds }, syncTargetDefinition);
  await eventuallyOk(() => client.list({ type }));
  const metadata = { name: "west", labels: { location: "us-west-2" } };
  await client.create({ type }, { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget", metadata, spec: {} });
  await workspace.run("cluster register east --location us-east-1");
  await workspace.run("placement create web --strategy Spread");

  const interrupt = Promise.withResolvers<void>();
  const kubeconfigs = [...workspace.clusterKubeconfigs].map(([name, path]) => `${name}=${path}`).join(",");
  const ended = tmc(
    [
      ...["controller", "--kcp-kubeconfig", workspace.kubeconfig, "--workspace", "root:demo"],
      ...["--cluster-source", "clusterregistration,synctarget", "--cluster-kubeconfigs", kubeconfigs],
      ...["--metrics-port", "0", "--health-port", "0", "--log-level", "0"],
    ],
    { interrupted: interrupt.promise },
  );
  await waitUntil("the placement to be on both", async () => {
    const { out } = await workspace.run("placement list");
    return /^web +Spread +east,west +Ready/m.test(out) ? { done: true } : { missing: out };
  });
  const west = await client.get({ type, name: "west" });
  expect(findCondition(parseConditions(west), "Ready")).toMatchObject({ status: "True", reason: "ClusterReady" });
  interrupt.resolve();
  expect(await ended).toEqual({ code: 0, out: "", err: "" });
}, 60_000);
