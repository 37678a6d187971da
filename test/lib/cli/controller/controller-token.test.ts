import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, beforeAll, expect, it } from "vitest";
import { kinds } from "../../../../lib/api/kinds.ts";
import { customResourceDefinition } from "../../../../lib/api/resource-schema.ts";
import type { WorkloadPlacement } from "../../../../lib/api/workload-placement.ts";
import { resourceTypes } from "../../../../lib/cli/workspace.ts";
import { waitUntil } from "../../../../lib/install/wait.ts";
import { findCondition } from "../../../../lib/model/condition.ts";
import {
  aClusterRole,
  aClusterRoleBinding,
  crds,
  eventuallyOk,
  rbac,
  serviceAccounts,
  tokenOfNewAccount,
} from "../../../contract/resources.ts";
import { createShownClock, tmc } from "../support.ts";

let hub: EmbeddedCluster;
let folder: string;
beforeAll(async () => {
  [hub, folder] = await Promise.all([
    startEmbeddedCluster({ name: "hub", nodes: 0 }),
    mkdtemp(join(tmpdir(), "tmc-token-")),
  ]);
});
afterAll(async () => {
  await hub.stop();
  await rm(folder, { recursive: true, force: true });
});

const account = { namespace: "default", name: "controller" };

it("tmc controller uses the new token in its kubeconfig when the server rejects the old one", async () => {
  const client = createKubeClient({ endpoint: hub.endpoint(), transport: hub.transport() });
  for (const kind of kinds) await client.create({ type: crds }, customResourceDefinition(kind));
  await eventuallyOk(() => client.list({ type: resourceTypes.placements }));
  const all = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  await client.create({ type: rbac("clusterroles") }, aClusterRole("everything", all));
  await client.create({ type: rbac("clusterrolebindings") }, aClusterRoleBinding("everything", account));
  const kubeconfig = join(folder, "hub.kubeconfig");
  const writeNewToken = async (): Promise<void> => {
    const token = await tokenOfNewAccount(client, account.namespace, account.name);
    const { server, ca } = hub.endpoint();
    await writeKubeconfig(kubeconfig, { contexts: [{ name: "c", endpoint: { server, ca }, token }] });
  };
  const create = (name: string): Promise<unknown> =>
    client.create(
      { type: resourceTypes.placements },
      {
        apiVersion: "tmc.kcp.io/v1alpha1",
        kind: "WorkloadPlacement",
        metadata: { name },
        spec: { strategy: "RoundRobin" },
      },
    );
  const decided = (name: string): Promise<unknown> =>
    waitUntil(`${name} to be decided`, async () => {
      const placement = await client.get<WorkloadPlacement>({ type: resourceTypes.placements, name });
      const ready = findCondition(placement.status?.conditions, "Ready");
      return ready === undefined ? { missing: "no Ready condition" } : { done: true };
    });

  await writeNewToken();
  const interrupt = Promise.withResolvers<void>();
  const messages: unknown[] = [];
  const clock = createShownClock();
  const flags = ["--kcp-kubeconfig", kubeconfig, "--hub", "kubernetes", "--cluster-kubeconfigs", "none"];
  const ended = tmc(["controller", ...flags, "--metrics-port", "0", "--health-port", "0"], {
    clock,
    interrupted: interrupt.promise,
    onPrint: (text) => messages.push(JSON.parse(text).message),
  });
  await create("before");
  await decided("before");

  // The token becomes invalid with its account; a new account of the same name is a different one.
  await client.delete({ type: serviceAccounts, ...account });
  await writeNewToken();
  clock.shown += 10_000;
  // Watches that were opened with the old token would continue.
  hub.faults.cutWatches();
  await create("after");
  await decided("after");
  expect(messages).toContain("kubeconfig renewed");
  interrupt.resolve();
  expect((await ended).code).toBe(0);
}, 60_000);
