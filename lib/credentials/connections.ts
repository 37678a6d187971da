import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import type { CredentialsFound } from "./credentials.ts";

/** Opens the way to a cluster; who runs it decides how: pooled, for a function, inside the process. */
export type OpenTransport = (
  endpoint: Endpoint,
  whose: Readonly<{ key: ObjectKey; givenBy: CredentialsFound["givenBy"] }>,
) => Transport;

/** The clients of all clusters that one process works with. */
export interface Connections {
  /** The client for a registered cluster: the same one as long as its credentials are. */
  clientFor(key: ObjectKey, found: CredentialsFound): KubeClient;
  /** Ends the connections to a cluster whose registration has gone. */
  drop(key: ObjectKey): Promise<void>;
  close(): Promise<void>;
}

export type ConnectionsOptions = Readonly<{
  openTransport: OpenTransport;
  /** How many clusters are kept connected; the one that was used longest ago goes first. @default all */
  most?: number | undefined;
  clock?: Clock | undefined;
  random?: (() => number) | undefined;
}>;

type Connected = Readonly<{ fingerprint: string; client: KubeClient }>;

/** Keeps one client, with its pool of connections, for each registered cluster. */
export function createConnections(options: ConnectionsOptions): Connections {
  const { openTransport, most = Number.POSITIVE_INFINITY, clock, random } = options;
  const open = new Map<string, Connected>();
  const closing = new Set<Promise<void>>();

  const end = (client: KubeClient): Promise<void> => {
    const ended = client.close().finally(() => closing.delete(ended));
    closing.add(ended);
    return ended;
  };
  /** Makes it the one that was used last. */
  const use = (id: string, connected: Connected): void => {
    open.delete(id);
    open.set(id, connected);
  };
  return {
    clientFor: (key, { endpoint, fingerprint, givenBy }) => {
      const id = formatKey(key);
      const before = open.get(id);
      if (before?.fingerprint === fingerprint) {
        use(id, before);
        return before.client;
      }
      const transport = openTransport(endpoint, { key, givenBy });
      const client = createKubeClient({ endpoint, transport, name: `cluster ${key.name}`, clock, random });
      use(id, { fingerprint, client });
      // Requests that are on their way end well; nobody waits for them. A failure to close is of no use to anyone.
      if (before !== undefined) end(before.client).catch(() => {});
      for (const [oldest, unused] of open) {
        if (open.size <= most) break;
        open.delete(oldest);
        end(unused.client).catch(() => {});
      }
      return client;
    },
    drop: async (key) => {
      const id = formatKey(key);
      const before = open.get(id);
      open.delete(id);
      if (before !== undefined) await end(before.client);
    },
    close: async () => {
      const clients = [...open.values()];
      open.clear();
      for (const { client } of clients) end(client).catch(() => {});
      await Promise.allSettled(closing);
    },
  };
}
