import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { type ByteBudget, createByteBudget } from "@tmc/kube/transport/byte-budget.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { tenantInFlightBytes, untrustedServerLimits } from "@tmc/kube/transport/transport-limits.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import type { CredentialsFound } from "./credentials.ts";

/** Opens a transport to a cluster. The implementation depends on the process: pooled, for a Lambda function, or in process. */
export type OpenTransport = (
  endpoint: Endpoint,
  context: Readonly<{ key: ObjectKey; providedBy: CredentialsFound["providedBy"] }>,
) => Transport;

/** The clients of all clusters that one process uses. */
export interface Connections {
  /** Returns the client for a registered cluster: the same one as long as its credentials do not change. */
  clientFor(key: ObjectKey, found: CredentialsFound): KubeClient;
  /** Closes the connections to a cluster whose registration was deleted. */
  disconnect(key: ObjectKey): Promise<void>;
  close(): Promise<void>;
}

export type ConnectionsOptions = Readonly<{
  openTransport: OpenTransport;
  /** Maximum number of connected clusters; the least recently used is closed first. @default unlimited */
  capacity?: number | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
}>;

type OpenConnection = Readonly<{ fingerprint: string; client: KubeClient }>;

/** Creates Connections that keep one client, with its connection pool, per registered cluster. */
export function createConnections(options: ConnectionsOptions): Connections {
  const { openTransport, capacity = Number.POSITIVE_INFINITY, clock, random } = options;
  const open = new Map<string, OpenConnection>();
  /** One per tenant, for all servers that the tenant names: one per server would grow with the number of registrations. */
  const budgets = new Map<string, ByteBudget>();
  const budgetOf = ({ logicalCluster }: ObjectKey): ByteBudget => {
    const budget = budgets.get(logicalCluster) ?? createByteBudget(tenantInFlightBytes);
    budgets.set(logicalCluster, budget);
    return budget;
  };
  const closing = new Set<Promise<void>>();

  const closeClient = (client: KubeClient): Promise<void> => {
    const ended = client.close().finally(() => closing.delete(ended));
    closing.add(ended);
    return ended;
  };
  const markUsed = (id: string, connected: OpenConnection): void => {
    open.delete(id);
    open.set(id, connected);
  };
  return {
    clientFor: (key, { endpoint, hash, providedBy }) => {
      const id = formatKey(key);
      const before = open.get(id);
      if (before?.fingerprint === hash) {
        markUsed(id, before);
        return before.client;
      }
      const transport = openTransport(endpoint, { key, providedBy });
      const limited = providedBy === "tenant" ? { limits: untrustedServerLimits, inFlight: budgetOf(key) } : {};
      const client = createKubeClient({ endpoint, transport, name: `cluster ${key.name}`, clock, random, ...limited });
      markUsed(id, { fingerprint: hash, client });
      // Closing waits for requests in flight, so it runs in the background. Errors while closing need no handling.
      if (before !== undefined) closeClient(before.client).catch(() => {});
      for (const [oldest, unused] of open) {
        if (open.size <= capacity) break;
        open.delete(oldest);
        closeClient(unused.client).catch(() => {});
      }
      return client;
    },
    disconnect: async (key) => {
      const id = formatKey(key);
      const before = open.get(id);
      open.delete(id);
      if (before !== undefined) await closeClient(before.client);
    },
    close: async () => {
      const clients = [...open.values()];
      open.clear();
      for (const { client } of clients) closeClient(client).catch(() => {});
      await Promise.allSettled(closing);
    },
  };
}
