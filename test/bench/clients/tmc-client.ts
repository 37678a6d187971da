import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import type { BenchClient, ConfigMap, Target } from "./bench-client.ts";

const configMaps = { group: "", version: "v1", plural: "configmaps", kind: "ConfigMap", namespaced: true };
const namespaces = { group: "", version: "v1", plural: "namespaces", kind: "Namespace", namespaced: false };

/** Gives TMC's own client over one of its two transports. */
export function createTmcClient({ server, ca, token }: Target, transport: "undici" | "https"): BenchClient {
  const endpoint: Endpoint = { server, ca, token: () => Promise.resolve(token) };
  return overTransport(
    endpoint,
    transport === "undici" ? createUndiciTransport(endpoint) : createHttpsTransport(endpoint),
  );
}

/** Gives TMC's own client over a transport that is there already. */
export function overTransport(endpoint: Endpoint, transport: Transport): BenchClient {
  const client = createKubeClient({ endpoint, transport });
  return {
    createNamespace: (name) =>
      client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    create: (namespace, object) => client.create({ type: configMaps, namespace }, object),
    get: (namespace, name) => client.get({ type: configMaps, namespace, name }),
    list: (namespace) => client.list({ type: configMaps, namespace }, { limit: 500 }),
    mergePatch: (namespace, name, body) => client.patch({ type: configMaps, namespace, name }, { type: "merge", body }),
    watch: async (namespace, onData, signal) => {
      for await (const event of client.watch<ConfigMap>({ type: configMaps, namespace }, { signal })) {
        if (event.type !== "BOOKMARK") onData(event.object.data);
      }
    },
  };
}
