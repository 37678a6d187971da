import type { ExportEndpoint } from "../kcp/export-endpoints.ts";
import { apiBindings } from "../kcp/kcp-types.ts";
import { clusterOf } from "../kcp/logical-cluster.ts";
import type { Clock } from "../model/clock.ts";
import { type ReconciledKind, reconciledKinds } from "../model/key.ts";
import type { KubeObject, ResourceType } from "../model/kube-object.ts";
import { type Following, follow } from "./follow.ts";
import type { Ledger, TenantBook } from "./ledger.ts";
import type { RelayListener } from "./listener.ts";
import { createPacedRelist } from "./paced-relist.ts";
import { pageByPage } from "./page-by-page.ts";
import { createSecretWatch } from "./secret-watch.ts";
import { createTenantRoll, type RollChange, traceOfBinding } from "./tenant-roll.ts";

export type EndpointWatchOptions = Readonly<{
  endpoint: ExportEndpoint;
  types: Readonly<Record<ReconciledKind, ResourceType>>;
  ledger: Ledger;
  listener: RelayListener;
  slim: (object: KubeObject) => KubeObject;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Hears of tenants that have come or gone here, and of the first list of them. */
  onRoll(clusters: readonly string[]): void;
}>;

/**
 * All tenants of one endpoint, watched at once: one watch for the bindings, one for each kind, and one for secrets while any
 * registration refers to one, however many tenants there are.
 */
export interface EndpointWatch {
  readonly endpoint: ExportEndpoint;
  /** Whether the bindings have been listed once. */
  readonly isListed: boolean;
  /** The tenants whose bindings are seen here. */
  clusters(): readonly string[];
  shows(cluster: string): boolean;
  /** Begins to look after a tenant. */
  engage(cluster: string): void;
  release(cluster: string): void;
  stop(): Promise<void>;
}

/** A tenant's book, and for each kind the number of lists that had begun when it came: what they read may lack it. */
type Engaged = Readonly<{ book: TenantBook; since: Readonly<Record<ReconciledKind, number>> }>;

type Lanes = Readonly<Record<ReconciledKind, Following>>;

/** Begins to watch an endpoint. */
export function watchEndpoint(options: EndpointWatchOptions): EndpointWatch {
  const { endpoint, types, ledger, listener, slim, clock, random, relistSeconds, onRoll } = options;
  const place = endpoint.url;
  const everywhere = endpoint.at("*");
  const roll = createTenantRoll();
  const engaged = new Map<string, Engaged>();
  const watching = { place, listener, clock, random, relistSeconds };
  let lanes: Lanes | undefined;
  const ending = new Set<Promise<void>>();
  let isListed = false;
  let stopped = false;
  /** The kinds that are still to come of the list that is under way. */
  const toCome = new Set<ReconciledKind>();
  /**
   * Both kinds again: a watch that began before anybody served its type may stay silent for ever, and what a new tenant had
   * before it came was passed over.
   */
  const relists = createPacedRelist({
    clock,
    relist: () => {
      for (const kind of reconciledKinds) {
        toCome.add(kind);
        lanes?.[kind].relist();
      }
    },
  });

  const secrets = createSecretWatch({
    client: everywhere,
    clusterOf,
    clock,
    random,
    relistSeconds,
    onChanged: ledger.secretsChanged,
    onTrouble: (error, retryInMs) => listener.trouble?.({ what: "Secret", cluster: place, error, retryInMs }),
  });

  const followKind = (kind: ReconciledKind, isCurrent: () => boolean): Following => {
    const bookOf = (object: KubeObject): TenantBook | undefined =>
      isCurrent() ? engaged.get(clusterOf(object))?.book : undefined;
    return follow(
      { ...watching, client: pageByPage(everywhere, slim), type: types[kind], what: kind },
      {
        listed: (objects, list) => {
          if (!isCurrent()) return;
          toCome.delete(kind);
          if (toCome.size === 0) relists.done();
          const byCluster = Map.groupBy(objects, clusterOf);
          for (const [cluster, { book, since }] of engaged) {
            if (since[kind] < list) book.takeList(kind, byCluster.get(cluster) ?? []);
          }
        },
        changed: (object) => bookOf(object)?.takeChanged(kind, object),
        deleted: (object) => bookOf(object)?.takeDeleted(kind, object),
      },
    );
  };

  const beginLanes = (): void => {
    if (stopped || lanes !== undefined || engaged.size === 0) return;
    for (const kind of reconciledKinds) toCome.add(kind);
    relists.begun();
    let begun: Lanes | undefined;
    /** Those that were ended may still have something to tell. */
    const isCurrent = (): boolean => begun !== undefined && lanes === begun;
    begun = {
      ClusterRegistration: followKind("ClusterRegistration", isCurrent),
      WorkloadPlacement: followKind("WorkloadPlacement", isCurrent),
    };
    lanes = begun;
  };
  const endLanes = (): void => {
    relists.stop();
    for (const lane of Object.values(lanes ?? {})) {
      const end = lane.stop().finally(() => ending.delete(end));
      ending.add(end);
    }
    lanes = undefined;
  };

  const takeRoll = (changes: readonly RollChange[]): void => {
    const moved = changes.filter(({ kind }) => kind !== "claims").map(({ cluster }) => cluster);
    if (moved.length > 0) onRoll(moved);
    for (const { kind, cluster } of changes) {
      // What was refused may be given now, and the other way round.
      if (kind !== "claims" || !engaged.has(cluster)) continue;
      ledger.secretsChanged(secrets.referrers(cluster).map((name) => ({ cluster, name })));
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
    engage: (cluster) => {
      if (stopped) return;
      const since = {
        ClusterRegistration: lanes?.ClusterRegistration.listsBegun ?? 0,
        WorkloadPlacement: lanes?.WorkloadPlacement.listsBegun ?? 0,
      };
      engaged.set(cluster, { book: ledger.open(cluster, secrets), since });
      if (lanes !== undefined) relists.want();
      // Not before there is a tenant, for a type that nobody has is not served; and once for all that come together.
      else if (engaged.size === 1) queueMicrotask(beginLanes);
    },
    release: (cluster) => {
      engaged.delete(cluster);
      ledger.close(cluster);
      if (engaged.size === 0) endLanes();
    },
    stop: async () => {
      stopped = true;
      endLanes();
      await Promise.all([bindings.stop(), secrets.stop(), ...ending]);
    },
  };
}
