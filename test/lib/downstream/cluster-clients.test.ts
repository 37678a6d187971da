import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import type { TransportResponse } from "@tmc/kube/transport/transport.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { createConnections } from "../../../lib/credentials/connections.ts";
import { type CredentialSource, notConfigured, outcomeOf } from "../../../lib/credentials/credentials.ts";
import { createClusterClients } from "../../../lib/downstream/cluster-clients.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { aRegistration } from "../registration/registrations.ts";

const east: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const signal = new AbortController().signal;
const address = { type: { group: "", version: "v1", plural: "configmaps" }, namespace: "a", name: "b" };

/** A cluster that rejects every request, and puts the token of the request into its answers. */
function aSystem({ isRegistered = true, isConfigured = true } = {}) {
  let token = "first-secret";
  const credentials: CredentialSource = {
    find: async () =>
      isConfigured
        ? outcomeOf({ server: "https://east.invalid", token: async () => token }, { providedBy: "tenant", nowMs: 0 })
        : notConfigured("no credentials are configured for the cluster"),
    invalidate: () => {
      token = "second-secret";
    },
  };
  const connections = createConnections({
    openTransport: () => ({
      send: async ({ headers }): Promise<TransportResponse> => {
        const message = `no access with ${headers?.authorization?.replace("Bearer ", "")}`;
        const text = JSON.stringify({ kind: "Status", code: 403, message, details: { causes: [{ message }] } });
        return {
          status: 403,
          headers: { "content-type": "application/json" },
          text: async () => text,
          chunks: async function* () {
            yield new TextEncoder().encode(text);
          },
          cancel: () => {},
        };
      },
      close: async () => {},
    }),
  });
  const hub: Pick<Hub, "read"> = {
    // Every key has a registration.
    read: async <T extends KubeObject>() => (isRegistered ? (aRegistration() as KubeObject as T) : undefined),
  };
  return createClusterClients({ hub, credentials, connections, clock: createManualClock() });
}

describe("the clients of clusters", () => {
  it("are the same objects as long as the credentials are the same", async () => {
    const clients = aSystem();
    const one = await clients.clientFor(east, signal);
    expect(await clients.clientFor(east, signal)).toBe(one);
    clients.unauthorized(east);
    expect(await clients.clientFor(east, signal)).not.toBe(one);
  });

  it.each([
    ["there is no such registration", { isRegistered: false }],
    ["no credentials are configured for the cluster", { isConfigured: false }],
  ])("cannot be created when %s", async (reason, given) => {
    await expect(aSystem(given).clientFor(east, signal)).rejects.toMatchObject({
      fault: "unreachable",
      message: `cluster east: ${reason}`,
    });
  });

  it("fail with errors that contain no credentials, whatever the cluster answers", async () => {
    const client = await aSystem().clientFor(east, signal);
    const watch = async () => {
      for await (const event of client.watch(address)) throw new Error(`unexpected ${event.type}`);
    };
    const calls = {
      get: () => client.get(address),
      list: () => client.list(address),
      listAll: () => client.listAll(address),
      watch,
      create: () => client.create(address, {}),
      update: () => client.update(address, {}),
      patch: () => client.patch(address, { type: "merge", body: {} }),
      delete: () => client.delete(address),
      deleteAll: () => client.deleteAll(address),
      metadata: () => client.metadata.get(address),
      at: () => client.at("/clusters/a").get(address),
    };
    for (const [name, call] of Object.entries(calls)) {
      const error: unknown = await call().then(
        () => undefined,
        (failure: unknown) => failure,
      );
      expect(error, name).toMatchObject({ fault: "forbidden", message: expect.stringContaining("no access with …") });
      expect(JSON.stringify(error, Object.getOwnPropertyNames(error)), name).not.toContain("secret");
      expect(JSON.stringify((error as { body?: unknown }).body), name).not.toContain("secret");
    }
  });
});

/** A registration whose kubeconfig leads to a cluster with `uid`; `network` makes its requests fail. */
function aSwappableCluster() {
  const clock = createManualClock();
  const state = {
    uid: "uid-a" as string | undefined,
    token: "first",
    status: { clusterUID: "uid-a" } as NonNullable<ClusterRegistration["status"]>,
    network: undefined as string | undefined,
    /** The paths of all requests. */
    paths: [] as string[],
  };
  const connections = createConnections({
    openTransport: () => ({
      send: async ({ path }): Promise<TransportResponse> => {
        state.paths.push(path);
        if (state.network !== undefined) throw Object.assign(new Error(state.network), { code: state.network });
        const isForbidden = path.includes("kube-system") && state.uid === undefined;
        const body = isForbidden ? { kind: "Status", code: 403 } : { metadata: { name: "x", uid: state.uid } };
        return {
          status: isForbidden ? 403 : 200,
          headers: { "content-type": "application/json" },
          text: async () => JSON.stringify(body),
          chunks: async function* () {
            yield new TextEncoder().encode(JSON.stringify(body));
          },
          cancel: () => {},
        };
      },
      close: async () => {},
    }),
  });
  const clients = createClusterClients({
    hub: {
      read: async <T extends KubeObject>() => aRegistration({ status: state.status }) as KubeObject as T,
    },
    credentials: {
      find: async () =>
        outcomeOf(
          { server: "https://east.invalid", token: async () => state.token },
          { providedBy: "tenant", nowMs: 0 },
        ),
      invalidate: () => {},
    },
    connections,
    clock,
  });
  const identityRequests = (): number => state.paths.filter((path) => path.includes("kube-system")).length;
  return { state, clock, clients, identityRequests, use: () => clients.clientFor(east, signal) };
}

describe("the identity of the cluster behind a client", () => {
  it("is confirmed by one request per client, and by none at rest", async () => {
    const { use, identityRequests } = aSwappableCluster();
    await Promise.all([use(), use(), use()]);
    await use();
    expect(identityRequests()).toBe(1);
  });

  it("is not asked for while the registration has none", async () => {
    const { state, use, identityRequests } = aSwappableCluster();
    state.status = {};
    await use();
    expect(identityRequests()).toBe(0);
  });

  it("is confirmed again before the first request with other credentials, which may lead to another cluster", async () => {
    const { state, use } = aSwappableCluster();
    await use();
    Object.assign(state, { uid: "uid-b", token: "second" });
    await expect(use()).rejects.toMatchObject({
      fault: "unreachable",
      message: "cluster east: the registered cluster has uid uid-a, but uid uid-b answers",
    });
  });

  it("is confirmed again after a failed connection: a rebuilt cluster may have the same address and credentials", async () => {
    const { state, use } = aSwappableCluster();
    const client = await use();
    Object.assign(state, { network: "ECONNREFUSED" });
    await expect(client.get(address)).rejects.toMatchObject({ fault: "unreachable" });
    Object.assign(state, { network: undefined, uid: "uid-b" });
    await expect(use()).rejects.toMatchObject({ message: expect.stringContaining("uid-b answers") });
  });

  it("is not confirmed when the credentials may no longer read it", async () => {
    const { state, use } = aSwappableCluster();
    Object.assign(state, { uid: undefined });
    await expect(use()).rejects.toMatchObject({ fault: "unreachable" });
  });

  it("blocks every request while a probe has found another cluster, although the client was confirmed before", async () => {
    const { state, use } = aSwappableCluster();
    await use();
    state.status = { clusterUID: "uid-a", observedClusterUID: "uid-b" };
    await expect(use()).rejects.toMatchObject({ fault: "unreachable" });
  });

  it("is confirmed anew when a user has accepted another cluster", async () => {
    const { state, use } = aSwappableCluster();
    await use();
    Object.assign(state, { uid: "uid-b", status: { clusterUID: "uid-b" } });
    await expect(use()).resolves.toBeDefined();
  });

  it("is not asked for again for five seconds after a timeout", async () => {
    const { state, clock, use, identityRequests } = aSwappableCluster();
    Object.assign(state, { network: "ETIMEDOUT" });
    await expect(use()).rejects.toMatchObject({ network: "timeout" });
    await expect(use()).rejects.toMatchObject({ network: "timeout" });
    expect(identityRequests()).toBe(1);
    clock.advance(5_000);
    Object.assign(state, { network: undefined });
    await expect(use()).resolves.toBeDefined();
  });
});
