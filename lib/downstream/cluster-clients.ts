import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Connections } from "../credentials/connections.ts";
import type { CredentialSource } from "../credentials/credentials.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey } from "../model/key.ts";
import { createIdentityChecks } from "./cluster-identity.ts";
import { redactingClient } from "./redacting-client.ts";

/**
 * Returns the client for a registered cluster. It is the same object as long as the credentials are the same, because sessions
 * keep the state of a cluster by its client. Fails with "unreachable" if there is no registration or no credentials, or if
 * another cluster answers than the registered one.
 */
export type ClientFor = (registration: ObjectKey, signal: AbortSignal) => Promise<KubeClient>;

/** The clients of registered clusters, by registration. */
export type ClusterClients = Readonly<{
  clientFor: ClientFor;
  /** Reports that a cluster rejected its credentials: the next client uses what the credential source returns then. */
  unauthorized(registration: ObjectKey): void;
}>;

export type ClusterClientsOptions = Readonly<{
  hub: Pick<Hub, "read">;
  credentials: CredentialSource;
  connections: Connections;
  clock: Pick<Clock, "monotonicMs">;
}>;

/**
 * Creates clients from registrations and credential sources. Their errors are redacted: they contain no credentials. All reads,
 * writes and watches of sync and upsync get their client here, so no request reaches a cluster whose identity is not confirmed.
 */
export function createClusterClients({ hub, credentials, connections, clock }: ClusterClientsOptions): ClusterClients {
  const redacted = new WeakMap<KubeClient, KubeClient>();
  const identity = createIdentityChecks(clock);
  const redact = (client: KubeClient, redactText: (text: string) => string): KubeClient => {
    const wrapped: KubeClient = redactingClient(client, redactText, (error) => identity.failed(wrapped, error));
    return wrapped;
  };
  return {
    clientFor: async (key, signal) => {
      const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
      if (registration === undefined) throw noClient(key, "there is no such registration");
      const found = await credentials.find({ key, registration }, signal);
      if (found.kind === "not-configured") throw noClient(key, found.message);
      const client = connections.clientFor(key, found);
      const known = redacted.get(client) ?? redact(client, found.redact);
      redacted.set(client, known);
      await identity.confirm(known, { key, registration }, signal);
      return known;
    },
    unauthorized: (registration) => credentials.invalidate(registration),
  };
}

function noClient({ name }: ObjectKey, reason: string): ControllerError {
  return new ControllerError("unreachable", `cluster ${name}: ${reason}`);
}
