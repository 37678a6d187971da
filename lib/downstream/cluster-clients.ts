import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey } from "../model/key.ts";
import { concealedClient } from "./redacting-client.ts";

/**
 * Gives the client for a registered cluster: the very same object as long as its credentials are the same, for what is
 * remembered of a cluster is remembered by that. Fails with "unreachable" where there is no way in.
 */
export type ClientFor = (registration: ObjectKey, signal: AbortSignal) => Promise<KubeClient>;

/** The way from registrations to clients, for whoever works on the clusters themselves. */
export type ClusterClients = Readonly<{
  clientFor: ClientFor;
  /** Says that a cluster has refused its credentials: the next client is made with what their source says then. */
  refused(registration: ObjectKey): void;
}>;

export type ClusterClientsOptions = Readonly<{
  hub: Pick<Hub, "read">;
  credentials: CredentialSource;
  connections: Connections;
}>;

/** Finds clients by the registrations in the hub. What they fail with tells nothing of the credentials. */
export function createClusterClients({ hub, credentials, connections }: ClusterClientsOptions): ClusterClients {
  const concealed = new WeakMap<KubeClient, KubeClient>();
  return {
    clientFor: async (key, signal) => {
      const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
      if (registration === undefined) throw noWayIn(key, "there is no such registration");
      const found = await credentials.find({ key, registration }, signal);
      if (found.kind === "not-configured") throw noWayIn(key, found.message);
      const client = connections.clientFor(key, found);
      const known = concealed.get(client) ?? concealedClient(client, found.conceal);
      concealed.set(client, known);
      return known;
    },
    refused: (registration) => credentials.forget(registration),
  };
}

function noWayIn({ name }: ObjectKey, why: string): ControllerError {
  return new ControllerError("unreachable", `cluster ${name}: ${why}`);
}
