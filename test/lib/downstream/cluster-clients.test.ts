import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { TransportResponse } from "@tmc/kube/transport/transport.ts";
import { describe, expect, it } from "vitest";
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
  return createClusterClients({ hub, credentials, connections });
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
