import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, describe, expect, it } from "vitest";
import { clusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type Connections, createConnections } from "../../../lib/credentials/connections.ts";
import type { CredentialSource } from "../../../lib/credentials/credentials.ts";
import { outcomeOf } from "../../../lib/credentials/credentials.ts";
import { createRegistrationWorld } from "../../../lib/engine/registration-world.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import type { ObjectKey, WorkKey } from "../../../lib/model/key.ts";
import type { WorkItem } from "../../../lib/model/work-item.ts";
import { decideRegistration } from "../../../lib/registration/decide.ts";
import type { ProbeOutcome } from "../../../lib/registration/probe-outcome.ts";
import type { RegistrationChange } from "../../../lib/registration/reconcile.ts";
import { defaultRegistrationSettings } from "../../../lib/registration/settings.ts";
import { downstreamNamespace } from "../../../lib/sync/ownership/namespace-map.ts";
import { faultsOf } from "../api/validate.ts";
import { aRegistration } from "../registration/registrations.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const upsynced: WorkKey = { logicalCluster: "abc", kind: "Workload", name: "deployments.v1.apps/shop/web" };
const signal = new AbortController().signal;
const running: EmbeddedCluster[] = [];
afterEach(async () => {
  for (const cluster of running.splice(0)) await cluster.stop();
});

const placement = (name: string, selectedClusters: readonly string[]): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name },
  spec: {},
  status: { selectedClusters },
});

const placements: readonly KubeObject[] = [placement("api", ["east", "west"]), placement("web", ["west"])];

async function aSystem(tokens: readonly string[] = ["right"], right = "right", given?: Connections) {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, adminToken: right });
  running.push(cluster);
  const clock = createManualClock();
  const sent: WorkItem[] = [];
  const changes: RegistrationChange[] = [];
  let opened = 0;
  let closed = 0;
  let invalidated = 0;
  /** Returns the next token after each invalidation. */
  const credentials: CredentialSource = {
    find: () => {
      const token = tokens[Math.min(invalidated, tokens.length - 1)] ?? "";
      return outcomeOf(
        { server: "https://embedded.invalid", token: async () => token },
        { providedBy: "tenant", nowMs: clock.now() },
      );
    },
    invalidate: () => {
      invalidated += 1;
    },
  };
  const hub: Hub = {
    read: async () => undefined,
    confirm: async () => undefined,
    // Only the logical cluster of the registration has placements.
    list: async <T extends KubeObject>(_: string, logicalCluster: string) =>
      // Only placements are listed, so the type parameter is that of placements.
      (logicalCluster === "abc" ? placements : []).map((each) => each as T),
    writeStatus: async (_, seen) => seen,
    writeFinalizers: async (_, seen) => seen,
    readSecret: async () => undefined,
  };
  const world = createRegistrationWorld({
    hub,
    queue: { send: async (items) => void sent.push(...items), sendLater: async () => {} },
    connections:
      given ??
      createConnections({
        openTransport: () => {
          opened += 1;
          const transport = cluster.transport("");
          return {
            send: (request) => transport.send(request),
            close: async () => {
              closed += 1;
            },
          };
        },
        clock,
      }),
    credentials,
    clock,
    factsHash: () => "",
    mayAffect: (_, change) => {
      changes.push(change);
      return true;
    },
    // A workload that has a copy on the cluster and an upsync origin there.
    workloadsOn: async () => [upsynced],
    alsoAffected: async (affected) => [affected, upsynced],
  });
  const probe = (detect = false, fresh = false): Promise<ProbeOutcome> =>
    world.probe(key, aRegistration(), { detect, fresh, timeoutMs: 5_000 }, signal);
  return { world, probe, sent, changes, cluster, count: () => ({ opened, closed, invalidated }) };
}

describe("a probe", () => {
  it("probes reuse one connection", async () => {
    const { probe, count } = await aSystem();
    for (let each = 0; each < 3; each++) expect((await probe()).kind).toBe("healthy");
    expect(count()).toEqual({ opened: 1, closed: 0, invalidated: 0 });
  });

  it("the result of a probe with detection is valid by the schema", async () => {
    const { probe } = await aSystem();
    const registration = aRegistration();
    const { status } = decideRegistration({
      registration,
      outcome: await probe(true),
      nowMs: 0,
      settings: defaultRegistrationSettings,
    });
    expect(status?.apis?.length).toBeGreaterThan(10);
    expect(faultsOf(clusterRegistration, { ...registration, status })).toEqual([]);
  });

  it("the detection counts what pods request, without those that TMC has placed for any tenant", async () => {
    const { probe, cluster } = await aSystem();
    const client = createKubeClient({ endpoint: { server: "https://h" }, transport: cluster.transport("right") });
    const own = downstreamNamespace({ hub: "another hub", logicalCluster: "another tenant", namespace: "shop" });
    for (const [namespace, cpu] of [
      ["default", "2"],
      [own, "4"],
    ] as const) {
      if (namespace === own) {
        const body = { apiVersion: "v1", kind: "Namespace", metadata: { name: own } };
        await client.create({ type: { group: "", version: "v1", plural: "namespaces" } }, body);
      }
      const containers = [{ name: "main", image: "nginx", resources: { requests: { cpu } } }];
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "p" }, spec: { nodeName: "a-node", containers } };
      await client.create({ type: { group: "", version: "v1", plural: "pods" }, namespace }, pod);
    }
    expect(await probe(true)).toMatchObject({
      detected: { otherPods: { kind: "known", requests: { cpu: 2_000_000_000n } } },
    });
  });

  it("a probe reads the credentials again once when the cluster rejects them", async () => {
    const { probe, count } = await aSystem(["old", "right"]);
    expect((await probe()).kind).toBe("healthy");
    expect(count()).toEqual({ opened: 2, closed: 1, invalidated: 1 });
  });

  it("a probe on demand reads the credentials again", async () => {
    const { probe, count } = await aSystem(["right"]);
    await probe(false, true);
    expect(count()).toMatchObject({ invalidated: 1 });
  });

  it("a probe reports CredentialsRejected if the credentials have not changed", async () => {
    const { probe, count } = await aSystem(["wrong"]);
    expect(await probe()).toMatchObject({ kind: "failed", reason: "CredentialsRejected" });
    expect(count().opened).toBe(1);
  });

  it("a probe reports CredentialsRejected if the new credentials are rejected too, without a third try", async () => {
    const { probe, count } = await aSystem(["wrong", "wrong too", "right"]);
    expect(await probe()).toMatchObject({ kind: "failed", reason: "CredentialsRejected" });
    expect(count().opened).toBe(2);
  });
});

describe("the response of a cluster", () => {
  it("the outcome of a probe never contains TMC's credentials, even if the cluster echoes them", async () => {
    const token = "s3cr3t-t0k3n";
    const bodies = [`[-]${token} failed: x`, `Bearer ${token}`, `{"kind":"Status","message":"${token}"}`];
    let [status, body] = [0, ""];
    const connections = createConnections({
      openTransport: () => ({
        send: async () => ({
          status,
          headers: { "content-type": "text/plain" },
          text: async () => body,
          chunks: async function* () {
            yield body;
          },
          cancel: () => {},
        }),
        close: async () => {},
      }),
    });
    const { probe } = await aSystem([token], "right", connections);
    for (status of [401, 403, 404, 429, 500, 503, 302]) {
      for (body of bodies) {
        const outcome = await probe(true);
        expect(outcome.kind).toBe("failed");
        expect(JSON.stringify(outcome)).not.toContain(token);
      }
    }
  });
});

describe("the registration world", () => {
  it("forget closes the connections of a deleted registration", async () => {
    const { world, probe, count } = await aSystem();
    await probe();
    await world.forget(key);
    expect(count()).toMatchObject({ closed: 1 });
    expect(world.lastProbe(key)).toEqual({});
  });

  it("dependents are the placements of the same logical cluster that use the registration", async () => {
    const { world } = await aSystem();
    const api = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "api" };
    expect(await world.dependents(key, signal)).toEqual([api, upsynced]);
    expect(await world.dependents({ ...key, logicalCluster: "other" }, signal)).toEqual([upsynced]);
  });

  it("every placement is checked whether a registration affects it, by name if the registration is gone", async () => {
    const { world, changes } = await aSystem();
    expect((await world.affected(key, {}, signal)).map(({ name }) => name)).toEqual(["api", "web", upsynced.name]);
    expect(changes[0]?.before?.metadata.name).toBe("east");
  });

  it("an object that is affected for several reasons is listed once", async () => {
    const { world } = await aSystem();
    const names = (await world.affected(key, { after: aRegistration() }, signal)).map(({ name }) => name);
    expect(names).toEqual(["api", "web", upsynced.name, "east"]);
  });

  it("enqueue sends keys with the reason fan-out", async () => {
    const { world, sent } = await aSystem();
    await world.enqueue([{ logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" }]);
    expect(sent).toEqual([
      { key: { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" }, reason: "fan-out" },
    ]);
  });
});
