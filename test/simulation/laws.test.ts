import type { KubeClient } from "@tmc/kube/client.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import { beforeAll, expect, test } from "vitest";
import type { WorkItem } from "../../lib/model/work-item.ts";
import { clientOf } from "../../lib/upstream/logical-cluster.ts";
import { placements, registrations } from "../lib/upstream/tenants.ts";
import type { Sabotage } from "./sabotage.ts";
import { type Servers, startServers } from "./servers.ts";
import { simulate } from "./simulate.ts";

/** A scenario in which every part of a controller has something to do. */
const seed = 3;

const addressOf = ({ key }: WorkItem) => ({
  ...(key.kind === "ClusterRegistration" ? registrations : placements),
  name: key.name,
});
const at = (client: KubeClient, { key }: WorkItem): KubeClient => clientOf(client, key.logicalCluster);
const isPlacement = ({ key }: WorkItem): boolean => key.kind === "WorkloadPlacement";
/** What a broken controller does to an object that has just gone is of no interest. */
const quietly = async (call: Promise<unknown>): Promise<void> => {
  await call.catch(() => {});
};

let turns = 0;

const cases: Record<string, { law: number; sabotage: Sabotage }> = {
  "keys of placements that get lost for good": {
    law: 1,
    sabotage: { keys: (items) => items.filter((item) => !isPlacement(item)) },
  },
  "a write after every piece of work": {
    law: 2,
    sabotage: {
      afterWork: async (item, client) => {
        const patch = { metadata: { annotations: { turn: String(turns++) } } };
        if (isPlacement(item)) await quietly(at(client, item).patch(addressOf(item), { type: "merge", body: patch }));
      },
    },
  },
  "a placement that is deleted when it does not fit": {
    law: 3,
    sabotage: {
      afterWork: async (item, client) => {
        if (isPlacement(item) && item.key.name === "p0") await quietly(at(client, item).delete(addressOf(item)));
      },
    },
  },
  "a finalizer that is taken from a living registration": {
    law: 3,
    sabotage: {
      afterWork: async (item, client) => {
        const body = { metadata: { finalizers: null } };
        if (item.reason === "heartbeat")
          await quietly(at(client, item).patch(addressOf(item), { type: "merge", body }));
      },
    },
  },
  "a read in another tenant's workspace": {
    law: 4,
    sabotage: {
      afterWork: async (item, client, tenants) => {
        const other = tenants.find((tenant) => tenant !== item.key.logicalCluster) ?? "";
        await quietly(clientOf(client, other).list(placements));
      },
    },
  },
  "a key of one tenant that enqueues a key of another": {
    law: 4,
    sabotage: {
      keys: (items, [first = "", second = ""]) => [
        ...items,
        ...items
          .filter(({ key, reason }) => key.logicalCluster === first && reason === "changed")
          .map(({ key, reason }) => ({ key: { ...key, logicalCluster: second }, reason })),
      ],
    },
  },
  "a probe that takes silence for health": {
    law: 5,
    sabotage: {
      clusterTransport: (wire): Transport => ({
        ...wire,
        send: (request) =>
          request.path === "/readyz"
            ? Promise.resolve({
                status: 200,
                headers: {},
                text: async () => "ok",
                chunks: async function* () {
                  yield "ok";
                },
                cancel: () => {},
              })
            : wire.send(request),
      }),
    },
  },
  "a decision in other words than the facts give": {
    law: 6,
    sabotage: {
      afterWork: async (item, client) => {
        const body = { status: { strategy: "Whatever" } };
        const options = { subresource: "status" };
        if (isPlacement(item)) {
          await quietly(at(client, item).patch(addressOf(item), { type: "merge", body }, options));
        }
      },
    },
  },
};

let servers: Servers;
beforeAll(async () => {
  servers = await startServers();
});

test("an unmodified controller violates no law", { timeout: 60_000 }, async () => {
  const { violations } = await simulate(seed, { servers });
  expect(violations).toEqual([]);
});

test.for(Object.entries(cases))("law against %s is enforced", { timeout: 60_000 }, async ([, { law, sabotage }]) => {
  const { violations } = await simulate(seed, { servers, sabotage });
  expect(new Set(violations.map((violation) => violation.law))).toContain(law);
});
