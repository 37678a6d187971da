import { DeleteMessageCommand, ReceiveMessageCommand, type SQSClient } from "@aws-sdk/client-sqs";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type CredentialSource, outcomeOf } from "../../../../lib/credentials/credentials.ts";
import { createHealthChecks } from "../../../../lib/observe/health.ts";
import { createLog } from "../../../../lib/observe/log.ts";
import { createMetrics } from "../../../../lib/observe/metrics.ts";
import { createSqsQueue, type QueueUrls, type SqsClient } from "../../../../lib/queue/sqs.ts";
import { createRelayService, type RelayServiceOptions } from "../../../../lib/relay/service/relay-service.ts";
import { eventually } from "../../../support/eventually.ts";
import { aDeployment } from "../../../support/functions-environment.ts";
import { createQueues, interceptSqs, startSqs } from "../../../support/sqs.ts";
import {
  aPlacement,
  aRegistration,
  placements,
  registrations,
  startTenants,
  type Tenants,
} from "../../upstream/tenants.ts";

const ends: (() => Promise<unknown>)[] = [];
let sqs: SQSClient;
let stopSqs: () => Promise<void>;
beforeAll(async () => {
  ({ sqs, stop: stopSqs } = await startSqs());
});
afterAll(() => stopSqs());
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function startUpstream(): Promise<Readonly<{ tenants: Tenants; urls: QueueUrls }>> {
  const tenants = await startTenants(["root:demo"]);
  ends.push(() => tenants.stop());
  const { urls, remove } = await createQueues(sqs);
  ends.push(remove);
  return { tenants, urls };
}

/** A relay service, and a switch that makes SQS unreachable. */
function aRelay(
  { tenants, urls }: Readonly<{ tenants: Tenants; urls: QueueUrls }>,
  workspaces: readonly string[] = ["root:demo"],
  more: Partial<RelayServiceOptions> = {},
) {
  const sqsCalls = { isDown: false, count: 0 };
  const switched: SqsClient = interceptSqs(sqs, (_call, pass) => {
    sqsCalls.count += 1;
    if (sqsCalls.isDown) throw Object.assign(new Error("connect"), { code: "ECONNREFUSED" });
    return pass();
  });
  const metrics = createMetrics();
  const health = createHealthChecks({ clock: systemClock });
  const service = createRelayService({
    client: tenants.client,
    workspaces,
    queue: createSqsQueue({ sqs: switched, urls }),
    clock: systemClock,
    random: () => 0, // the shortest backoff
    log: createLog({ level: 0, write: () => {}, clock: systemClock }),
    metrics,
    health,
    ...more,
  });
  ends.push(() => service.stop(0));
  const isReady = (): boolean => health.report("ready").status === "Healthy";
  return { service, metrics, health, sqsCalls, isReady };
}

/** A target cluster with a namespace in which Deployments can be created. */
async function aCluster() {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false });
  ends.push(() => cluster.stop());
  const client = createKubeClient({ endpoint: { server: cluster.url }, transport: cluster.transport(), name: "east" });
  const namespaces = { group: "", version: "v1", plural: "namespaces" };
  await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name: "shop" } });
  const type = { group: "apps", version: "v1", plural: "deployments" };
  return { cluster, createDeployment: (name: string) => client.create({ type, namespace: "shop" }, aDeployment(name)) };
}

const untilReady = (relay: ReturnType<typeof aRelay>): Promise<void> =>
  eventually(async () => (relay.isReady() ? undefined : JSON.stringify(relay.health.report("ready"))));

/** Receives and deletes all messages of the work queue; returns them as `kind/name reason`. */
async function received({ work }: QueueUrls, waitSeconds = 1): Promise<string[]> {
  const bodies: string[] = [];
  for (;;) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl: work, MaxNumberOfMessages: 10, WaitTimeSeconds: waitSeconds }),
    );
    if (Messages.length === 0) return bodies.toSorted();
    for (const { Body = "", ReceiptHandle } of Messages) {
      // SQS delivers no other message of a group while one of its messages is in flight.
      await sqs.send(new DeleteMessageCommand({ QueueUrl: work, ReceiptHandle }));
      const { kind, name, reason } = JSON.parse(Body) as Record<string, string>;
      bodies.push(`${kind}/${name} ${reason}`);
    }
  }
}

describe("a relay that cannot see the upstream", () => {
  test("a relay that loses the upstream says for how long, is not ready after two minutes, stays live, and sees again", async () => {
    const upstream = await startUpstream();
    let skippedMs = 0;
    const clock = {
      now: () => systemClock.now() + skippedMs,
      monotonicMs: () => systemClock.monotonicMs() + skippedMs,
      after: systemClock.after,
    };
    const relay = aRelay(upstream, ["root:demo"], { clock });
    expect(relay.service.blindSeconds()).toBeGreaterThanOrEqual(0);
    await relay.service.start();
    await untilReady(relay);
    await eventually(async () =>
      relay.service.blindSeconds() === 0 ? undefined : "it is blind although all was listed",
    );
    const { faults } = upstream.tenants.kcp;
    const outage = faults.inject({ match: {}, effect: { kind: "partition", requests: "refuse" } });
    faults.cutWatches();
    await eventually(async () => (relay.service.blindSeconds() > 0 ? undefined : "it does not notice the loss"));
    skippedMs = 180_000;
    expect(relay.service.blindSeconds()).toBeGreaterThan(120);
    const checkOf = (name: string) => relay.health.report("ready").checks.find((check) => check.name === name);
    expect(checkOf("upstream")).toMatchObject({ ok: false, detail: expect.stringContaining("in root:demo") });
    await eventually(async () =>
      relay.health.report("live").status === "Healthy" ? undefined : JSON.stringify(relay.health.report("live")),
    );
    outage.remove();
    await eventually(async () => (relay.service.blindSeconds() === 0 ? undefined : "it stays blind"));
    expect(checkOf("upstream")?.ok).toBe(true);
  });
});

describe("relay service with SQS", () => {
  test("two relays deliver each change once", async () => {
    const upstream = await startUpstream();
    const client = upstream.tenants.at(upstream.tenants.clusters[0] ?? "");
    await client.create(registrations, aRegistration("east"));
    const relays = [aRelay(upstream), aRelay(upstream)];
    await Promise.all(relays.map(({ service }) => service.start()));
    await Promise.all(relays.map(untilReady));
    for (const name of ["web", "api", "gone"]) await client.create(placements, aPlacement(name));
    await eventually(async () => {
      const objects = relays
        .map(({ metrics }) => metrics.render())
        .filter((page) => page.includes('tmc_placements{ready="unknown"} 3'));
      return objects.length === 2 ? undefined : "a relay has not seen all placements";
    });
    await eventually(async () => (relays.every(({ service }) => service.unsent === 0) ? undefined : "keys are unsent"));
    expect(await received(upstream.urls)).toEqual([
      "ClusterRegistration/east changed",
      "WorkloadPlacement/api changed",
      "WorkloadPlacement/gone changed",
      "WorkloadPlacement/web changed",
    ]);
    expect(relays.every(({ sqsCalls }) => sqsCalls.count > 0)).toBe(true);
  });

  test("two relays deliver the deletion of an object once", async () => {
    const upstream = await startUpstream();
    const client = upstream.tenants.at(upstream.tenants.clusters[0] ?? "");
    const relays = [aRelay(upstream), aRelay(upstream)];
    await Promise.all(relays.map(({ service }) => service.start()));
    await Promise.all(relays.map(untilReady));
    await client.create(placements, aPlacement("gone"));
    await eventually(async () =>
      relays.every(({ sqsCalls }) => sqsCalls.count >= 1) ? undefined : "the creation is not sent",
    );
    await client.delete({ ...placements, name: "gone" });
    await eventually(async () =>
      relays.every(({ sqsCalls }) => sqsCalls.count >= 2) ? undefined : "the deletion is not sent",
    );
    await eventually(async () => (relays.every(({ service }) => service.unsent === 0) ? undefined : "keys are unsent"));
    expect(await received(upstream.urls)).toEqual(["WorkloadPlacement/gone changed", "WorkloadPlacement/gone changed"]);
  });

  test("while SQS is down, the relay keeps each key once, is live and is not ready", async () => {
    const upstream = await startUpstream();
    const client = upstream.tenants.at(upstream.tenants.clusters[0] ?? "");
    const relay = aRelay(upstream);
    await relay.service.start();
    await untilReady(relay);
    relay.sqsCalls.isDown = true;
    for (const name of ["web", "api"]) await client.create(placements, aPlacement(name));
    for (let round = 0; round < 20; round++) {
      const body = { metadata: { labels: { round: String(round) } } };
      await client.patch({ ...placements, name: "web" }, { type: "merge", body });
    }
    await eventually(async () => (relay.isReady() ? "it is still ready" : undefined));
    expect(relay.service.unsent).toBe(2);
    expect(relay.health.report("live").status).toBe("Healthy");
    expect(relay.metrics.render()).toMatch(/tmc_relay_dirty_keys 2\n/);
    expect(relay.service.oldestUnsentSeconds()).toBeGreaterThan(0);
    relay.sqsCalls.isDown = false;
    await untilReady(relay);
    await eventually(async () => (relay.service.unsent === 0 ? undefined : "keys are unsent"));
    expect(relay.service.oldestUnsentSeconds()).toBe(0);
    expect(await received(upstream.urls)).toEqual(["WorkloadPlacement/api changed", "WorkloadPlacement/web changed"]);
  });

  test("stop sends the remaining keys, and returns the number of keys that were not sent in time", async () => {
    const upstream = await startUpstream();
    const client = upstream.tenants.at(upstream.tenants.clusters[0] ?? "");
    const relay = aRelay(upstream);
    await relay.service.start();
    await untilReady(relay);
    relay.sqsCalls.isDown = true;
    await client.create(placements, aPlacement("web"));
    await eventually(async () => (relay.service.unsent === 1 && !relay.isReady() ? undefined : "no key is waiting"));
    const stopping = relay.service.stop(5_000);
    relay.sqsCalls.isDown = false;
    expect(await stopping).toBe(0);
    expect(await received(upstream.urls)).toEqual(["WorkloadPlacement/web changed"]);

    const other = aRelay(upstream);
    other.sqsCalls.isDown = true;
    await other.service.start();
    await eventually(async () => (other.service.unsent === 1 ? undefined : "no key is waiting"));
    expect(await other.service.stop(10)).toBe(1);
  });

  test("relays objects that are created on a target cluster while its registration opts in to upsync", async () => {
    const upstream = await startUpstream();
    const client = upstream.tenants.at(upstream.tenants.clusters[0] ?? "");
    const { cluster, createDeployment } = await aCluster();
    await client.create(
      registrations,
      aRegistration("east", { upsync: [{ apiVersion: "apps/v1", kind: "Deployment", namespaces: ["shop"] }] }),
    );
    const credentials: CredentialSource = {
      find: async () => outcomeOf({ server: cluster.url }, { providedBy: "operator", nowMs: Date.now() }),
      invalidate: () => {},
    };
    const relay = aRelay(upstream, undefined, {
      sync: true,
      targetClusters: {
        findHubId: async () => "kcp",
        openTransport: () => cluster.transport(),
        openCredentials: () => credentials,
      },
    });
    await relay.service.start();
    await untilReady(relay);
    await createDeployment("before");
    // The registration is not Ready yet, so the cluster is not watched.
    expect(await received(upstream.urls)).toEqual(["ClusterRegistration/east changed"]);
    const write = (body: object, subresource?: "status") =>
      client.patch({ ...registrations, name: "east" }, { type: "merge", body }, subresource && { subresource });
    const now = "2030-01-01T00:00:00Z";
    const ready = { type: "Ready", status: "True", reason: "ClusterReady", message: "", lastTransitionTime: now };
    const apis = [{ groupVersion: "apps/v1", kinds: ["Deployment"] }];
    await write({ status: { apis, conditions: [ready] } }, "status");
    const keys: string[] = [];
    const untilRelayed = (name: string): Promise<void> =>
      eventually(async () => {
        keys.push(...(await received(upstream.urls, 0)));
        return keys.includes(`Workload/deployments.v1.apps/shop/${name} changed`) ? undefined : keys.join();
      });
    await untilRelayed("before");
    await createDeployment("web");
    await untilRelayed("web");
    expect(relay.metrics.render()).toMatch(/^tmc_upsync_objects 2$/m);
    await write({ spec: { upsync: null } });
    await eventually(async () =>
      /^tmc_upsync_objects 0$/m.test(relay.metrics.render()) ? undefined : "it is still watched",
    );
  });

  test("start fails at once and names a workspace that does not exist", async () => {
    const relay = aRelay(await startUpstream(), ["root:none"]);
    await expect(relay.service.start()).rejects.toMatchObject({
      message: 'workspace "root:none": there is none, or we have no access to it',
    });
    expect(relay.isReady()).toBe(false);
  });
});
