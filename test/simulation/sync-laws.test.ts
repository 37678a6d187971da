import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { ObjectTarget } from "@tmc/embedded/storage/operations.ts";
import { beforeAll, expect, test } from "vitest";
import { parseWorkloadKey, type WorkloadAddress, type WorkloadKey } from "../../lib/model/key.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { recordName } from "../../lib/sync/ownership/record.ts";
import { clientOf } from "../../lib/upstream/logical-cluster.ts";
import { copiesOn, namespaceFor } from "./copies.ts";
import { type WorkloadKind, workloadResources } from "./desired-workloads.ts";
import { aDeployment, aService, selecting } from "./kill-at-every-write.ts";
import type { Sabotage } from "./sabotage.ts";
import type { Input, Scenario, Step } from "./scenario.ts";
import { hangTimeoutMs, type Servers, startServers } from "./servers.ts";
import { type Run, runWithoutFaults, simulate } from "./simulate.ts";
import { withoutStackTraces } from "./stack-traces.ts";

/** Two tenants with the same two clusters; each has a workload of each kind on both of them. */
const scenario: Scenario = {
  seed: 1,
  mode: "direct",
  throughExport: false,
  features: [],
  steps: [0, 1].flatMap((tenant) =>
    (
      [
        ...(["c0", "c1"] as const).map((cluster): Input => {
          const desired = { cluster, credentialKind: "operator", labels: {}, spec: { location: "us-west-2" } } as const;
          return { kind: "register", tenant, name: cluster === "c0" ? "east" : "west", desired };
        }),
        {
          kind: "place",
          tenant,
          name: "all",
          desired: { annotations: {}, spec: selecting("all", { strategy: "Spread" }) },
        },
        { kind: "apply", tenant, name: "d0", desired: aDeployment("d0", "all") },
        { kind: "apply", tenant, name: "s0", desired: aService("d0", "all") },
      ] satisfies Input[]
    ).map((input): Step => ({ atMs: 0, input })),
  ),
  endMs: 1_000,
  finalStates: { c0: "up", c1: "up", c2: "up", c3: "up" },
  ending: "as-is",
  restMs: 120_000,
  settings: { workers: 2, heartbeatSeconds: 30, heartbeatWriteSeconds: 3600, resyncSeconds: 30, relistSeconds: 150 },
  failuresToUnready: 3,
  alwaysAllowed: 1_000,
  maxPercent: 30,
  isCrowded: false,
};

const workloadSyncs = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" } as const;
const context = { user: { name: "saboteur", groups: ["system:masters"] } };

/** The Deployment that a piece of work is about. */
function deploymentIn({ key }: WorkItem): (WorkloadAddress & Pick<WorkloadKey, "logicalCluster">) | undefined {
  const address = key.kind === "Workload" ? parseWorkloadKey(key) : undefined;
  return address?.type.plural === "deployments" ? { ...address, logicalCluster: key.logicalCluster } : undefined;
}

function targetOf({ catalog }: EmbeddedCluster, kind: WorkloadKind, namespace: string, name: string): ObjectTarget {
  const { group, version, plural } = workloadResources[kind];
  const definition = catalog.find(group, version, plural);
  if (definition === undefined) throw new Error(`no ${kind}`);
  return { definition, logicalCluster: "", namespace, name };
}

/** Does something about each copy of the workload at hand. */
const toCopies =
  (act: (cluster: EmbeddedCluster, target: ObjectTarget) => void, isTime = (_: WorkItem) => true) =>
  (item: WorkItem, clusters: ReadonlyMap<string, EmbeddedCluster>): void => {
    const address = deploymentIn(item);
    if (address === undefined || !isTime(item)) return;
    for (const cluster of clusters.values()) {
      for (const { kind, name } of copiesOn(cluster, address.logicalCluster)) {
        if (kind === "Deployment" && name === address.name) {
          act(cluster, targetOf(cluster, kind, namespaceFor(address.logicalCluster, address.namespace), name));
        }
      }
    }
  };
/** What a broken controller does to an object that has just gone is of no interest. */
const quietly = async (call: Promise<unknown>): Promise<void> => {
  await call.catch(() => {});
};
let turns = 0;
/** A controller that is triggered by its own writes would never come to rest, and only that would be seen. */
const isRound = ({ reason }: WorkItem): boolean => reason === "resync";

/** Sends one more request after each of the first applies of a Deployment. */
const afterApply = (pathOf: (path: string) => string): Sabotage => {
  let left = 3;
  return {
    clusterTransport: (wire) => ({
      ...wire,
      send: async (request) => {
        const response = await wire.send(request);
        if (request.method === "PATCH" && request.path.includes("/deployments/") && left > 0) {
          left -= 1;
          const { body: _, ...rest } = request;
          const [path = ""] = request.path.split("?");
          await quietly(wire.send({ ...rest, method: "DELETE", path: pathOf(path) }).then(({ cancel }) => cancel()));
        }
        return response;
      },
    }),
  };
};

/** Writes a sync record after each round. */
const toRecord =
  (body: object, options: Readonly<{ subresource?: string }>): NonNullable<Sabotage["afterWork"]> =>
  async (item, client) => {
    const address = deploymentIn(item);
    if (address === undefined || !isRound(item)) return;
    const { logicalCluster, namespace } = address;
    const at = { type: workloadSyncs, namespace, name: recordName(address) };
    await quietly(clientOf(client, logicalCluster).patch(at, { type: "merge", body }, options));
  };

const cases: Record<string, { law: number; says?: RegExp; sabotage: Sabotage }> = {
  "workloads that are never worked on": {
    law: 1,
    sabotage: { keys: (items) => items.filter(({ key }) => key.kind !== "Workload") },
  },
  "a copy that says something else than its workload": {
    law: 1,
    sabotage: {
      clusterTransport: (wire) => ({
        ...wire,
        send: (request) =>
          wire.send({
            ...request,
            ...(typeof request.body === "string" && { body: request.body.replace("shop:1", "shop:0") }),
          }),
      }),
    },
  },
  "a write to a cluster after every piece of work": {
    law: 2,
    sabotage: {
      onClusters: toCopies(({ operations }, target) => {
        const body = { metadata: { annotations: { turn: String(turns++) } } };
        operations.patch(target, { kind: "merge", body }, context);
      }, isRound),
    },
  },
  "a question about every workload at rest": {
    law: 2,
    sabotage: {
      afterWork: async (item, client) => {
        const address = deploymentIn(item);
        if (address === undefined) return;
        const { logicalCluster, ...at } = address;
        await quietly(clientOf(client, logicalCluster).get(at));
      },
    },
  },
  "an object without a mark that is removed": {
    law: 3,
    sabotage: {
      onClusters: toCopies((cluster, { namespace = "" }) => {
        const { operations, store } = cluster;
        const name = "kube-root-ca.crt";
        if (store.get({ storage: "configmaps", logicalCluster: "", namespace, name }) === undefined) return;
        operations.delete(targetOf(cluster, "ConfigMap", namespace, name), {}, context);
      }),
    },
  },
  "a wanted copy that is deleted": {
    law: 3,
    says: /it has been wanted there for as long as this run/,
    sabotage: afterApply((path) => path),
  },
  "a namespace that is deleted before it was looked into": {
    law: 3,
    says: /this run has not looked for/,
    sabotage: afterApply((path) => path.replace(/^.*(\/namespaces\/[^/]+).*$/, "/api/v1$1")),
  },
  "a record that does not name a cluster with a copy any more": {
    law: 3,
    says: /the cluster has not said in this run that it has no copy/,
    sabotage: { afterWork: toRecord({ spec: { clusters: [] } }, {}) },
  },
  "a record with a number that no cluster has told": {
    law: 5,
    says: /but the cluster told/,
    sabotage: {
      afterWork: toRecord(
        { status: { clusters: [{ name: "east", state: "Ready", readyReplicas: 9 }] } },
        { subresource: "status" },
      ),
    },
  },
  "a copy that is removed without a request": {
    law: 3,
    says: /has not asked for it/,
    sabotage: {
      onClusters: toCopies(({ operations }, target) => void operations.delete(target, {}, context), isRound),
    },
  },
  "a workload that is let go while a cluster has a copy": {
    law: 3,
    sabotage: {
      afterWork: async (item, client) => {
        const address = deploymentIn(item);
        if (address === undefined || !isRound(item)) return;
        const { logicalCluster, ...at } = address;
        const patch = { type: "merge", body: { metadata: { finalizers: null } } } as const;
        await quietly(clientOf(client, logicalCluster).patch(at, patch));
      },
    },
  },
  "a change in another tenant's namespace on a shared cluster": {
    law: 4,
    sabotage: {
      onClusters: (item, clusters, tenants) => {
        const other = tenants.find((tenant) => tenant !== item.key.logicalCluster) ?? "";
        if (item.key.kind !== "Workload" || !isRound(item)) return;
        for (const cluster of clusters.values()) {
          for (const { kind, namespace, name } of copiesOn(cluster, other)) {
            const body = { metadata: { labels: { turn: String(turns++) } } };
            const target = targetOf(cluster, kind, namespaceFor(other, namespace), name);
            cluster.operations.patch(target, { kind: "merge", body }, context);
          }
        }
      },
    },
  },
  "replicas that are said to be ready before any cluster says so": {
    law: 5,
    sabotage: {
      afterWork: async (item, client) => {
        const address = deploymentIn(item);
        if (address === undefined) return;
        const { logicalCluster, ...at } = address;
        const patch = { type: "merge", body: { status: { replicas: 9, readyReplicas: 9 } } } as const;
        await quietly(clientOf(client, logicalCluster).patch(at, patch, { subresource: "status" }));
      },
    },
  },
};

withoutStackTraces();
let servers: Servers;
let oracle: Run;
beforeAll(async () => {
  servers = await startServers();
  oracle = await runWithoutFaults(scenario, { servers });
}, hangTimeoutMs);

test("an unmodified controller violates no law", { timeout: hangTimeoutMs }, async () => {
  const { violations } = await simulate(1, { servers, oracle, scenario });
  expect(violations).toEqual([]);
});

test.for(Object.entries(cases))("law against %s is enforced", { timeout: hangTimeoutMs }, async ([, row]) => {
  const { law, says = /./, sabotage } = row;
  const { violations } = await simulate(1, { servers, oracle, sabotage, scenario });
  const found = violations.filter(({ message }) => says.test(message));
  expect(new Set(found.map((violation) => violation.law))).toContain(law);
});
