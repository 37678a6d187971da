import type { EmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import type { Next, WorkItem } from "../../lib/model/work-item.ts";
import type { ShardConfig } from "../../lib/sources/shard.ts";

/** Breaks the controller in one way, to see that the laws notice. */
export type Sabotage = Readonly<{
  /** What becomes of keys on their way to the queue. */
  keys?: (items: readonly WorkItem[], tenants: readonly string[]) => readonly WorkItem[];
  /** What the controller does after each piece of work. */
  afterWork?: (item: WorkItem, client: KubeClient, tenants: readonly string[]) => Promise<void>;
  /** When it wants to reconcile the key again, in place of what it decided; only functions. */
  next?: (item: WorkItem, decided: Next) => Next;
  /** What it does on clusters after each piece of work. */
  onClusters?: (item: WorkItem, clusters: ReadonlyMap<string, EmbeddedCluster>, tenants: readonly string[]) => void;
  /** The part that each of several controllers takes for its own. */
  shard?: ShardConfig;
  /** Stands between the controller and the wire to a cluster. */
  clusterTransport?: (wire: Transport) => Transport;
}>;
