import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import type { TypeId } from "../api/workload-kinds.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { ExportEndpoint } from "../upstream/export/endpoints.ts";
import { apiBindings } from "../upstream/kcp-types.ts";
import { clusterOf } from "../upstream/logical-cluster.ts";
import { recordLane, workloadLanes } from "../upstream/watched-resources.ts";
import { createTenantRoll, type RollChange, traceOfBinding } from "./bound-tenants.ts";
import type { Ledger, TenantBook } from "./change-tracker.ts";
import { follow } from "./follow.ts";
import type { RelayListener } from "./listener.ts";
import { type FollowLaneOptions, followLane, orderOfLanes } from "./resource-watch.ts";
import { createLaneGroup, type LaneGroup } from "./resource-watch-group.ts";
import { createSecretWatch } from "./secret-watch.ts";
import type { RelayedWorkloads } from "./workload-tracker.ts";

export type EndpointWatchOptions = Readonly<{
  endpoint: ExportEndpoint;
  types: Readonly<Record<ReconciledKind, ResourceType>>;
  ledger: Ledger;
  listener: RelayListener;
  slim: (object: KubeObject) => KubeObject;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** @default no workload is looked after */
  workloads?: RelayedWorkloads | undefined;
  /** Hears of tenants that have come or gone here, and of the first list of them. */
  onRoll(clusters: readonly string[]): void;
}>;

/**
 * All tenants of one endpoint, watched at once: one watch for the bindings, one for each kind, and one for secrets while any
 * registration refers to one, however many tenants there are. Where workloads are looked after, also one for each of their
 * types, of what comes along with them, of records and of namespaces.
 */
export interface EndpointWatch {
  readonly endpoint: ExportEndpoint;
  /** Whether the bindings have been listed once. */
  readonly isListed: boolean;
  /** The tenants whose bindings are seen here. */
  clusters(): readonly string[];
  shows(logicalCluster: string): boolean;
  /** Begins to look after a tenant. */
  engage(logicalCluster: string): void;
  release(logicalCluster: string): void;
  stop(): Promise<void>;
}

/** Begins to watch an endpoint. */
export function watchEndpoint(options: EndpointWatchOptions): EndpointWatch {
  const { endpoint, types, ledger, listener, slim, clock, random, relistSeconds, onRoll } = options;
  const place = endpoint.url;
  const everywhere = endpoint.at("*");
  const roll = createTenantRoll();
  /** The books of the tenants that are looked after. */
  const books = new Map<string, TenantBook>();
  const watching = { place, listener, clock, random, relistSeconds };
  let isListed = false;
  let stopped = false;

  const secrets = createSecretWatch({
    client: options.workloads === undefined ? everywhere : undefined,
    clusterOf,
    clock,
    random,
    relistSeconds,
    onChanged: ledger.secretsChanged,
    onTrouble: (error, retryInMs) => listener.trouble?.({ what: "Secret", logicalCluster: place, error, retryInMs }),
  });
  const kinds = createLaneGroup<ReconciledKind>({
    ids: reconciledKinds,
    clock,
    follow: (kind, follower) =>
      follow({ ...watching, client: pageByPage(everywhere, slim), type: types[kind], what: kind }, follower),
  });
  // A group of its own: nothing about our kinds waits for the workloads of all tenants.
  const workloads = options.workloads && workloadGroup(options.workloads, { ...watching, client: everywhere, secrets });

  const takeRoll = (changes: readonly RollChange[]): void => {
    const moved = changes.filter(({ kind }) => kind !== "claims").map(({ logicalCluster }) => logicalCluster);
    if (moved.length > 0) onRoll(moved);
    for (const { kind, logicalCluster } of changes) {
      // What was refused may be given now, and the other way round.
      if (kind !== "claims" || !books.has(logicalCluster)) continue;
      ledger.secretsChanged(
        secrets.referrers(logicalCluster).map((name) => ({ logicalCluster: logicalCluster, name })),
      );
      books.get(logicalCluster)?.workloads?.wakeAll();
      workloads?.relist();
    }
  };
  const bindings = follow(
    { ...watching, client: pageByPage(everywhere, traceOfBinding), type: apiBindings, what: "APIBinding" },
    {
      listed: (objects) => {
        isListed = true;
        takeRoll(roll.takeList(objects));
        onRoll([]);
      },
      changed: (object) => takeRoll(roll.take(object)),
      deleted: (object) => takeRoll(roll.lose(object)),
    },
  );

  return {
    endpoint,
    get isListed() {
      return isListed;
    },
    clusters: roll.clusters,
    shows: roll.has,
    engage: (logicalCluster) => {
      if (stopped) return;
      const book = ledger.open(logicalCluster, secrets);
      books.set(logicalCluster, book);
      kinds.engage(logicalCluster, book);
      if (book.workloads !== undefined) workloads?.engage(logicalCluster, book.workloads);
    },
    release: (logicalCluster) => {
      books.delete(logicalCluster);
      ledger.close(logicalCluster);
      kinds.release(logicalCluster);
      workloads?.release(logicalCluster);
    },
    stop: async () => {
      stopped = true;
      await Promise.all([kinds.stop(), workloads?.stop(), bindings.stop(), secrets.stop()]);
    },
  };
}

function workloadGroup(
  { types, slim = (object) => object }: RelayedWorkloads,
  watching: Omit<FollowLaneOptions, "slim" | "order">,
): LaneGroup<TypeId> {
  const lanes = new Map(workloadLanes(types).map((lane) => [lane.id, lane]));
  const order = orderOfLanes(lanes.values(), watching.clock);
  return createLaneGroup({
    ids: [...lanes.keys()],
    clock: watching.clock,
    follow: (id, follower) => followLane(lanes.get(id) ?? recordLane, { ...watching, slim, order }, follower),
  });
}
