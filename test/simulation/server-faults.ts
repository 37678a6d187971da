import { generatedUid } from "@tmc/embedded/storage/object-names.ts";
import type { StoreSnapshot } from "@tmc/embedded/storage/store.ts";
import type { SimulationEnvironment } from "./environment.ts";
import type { People } from "./people.ts";
import { kcpServer, type ViewAddress } from "./process-view.ts";
import type { Fault, Step } from "./scenario.ts";
import type { Seeded } from "./seeded.ts";
import { type Physical, spareName } from "./servers.ts";
import type { User } from "./user.ts";

/** What happens to servers as a whole. */
export type ServerFault =
  /** A cluster is built anew: empty, under the same name, with another identity. */
  | Readonly<{ kind: "rebuild"; cluster: Physical; downMs: number; acceptAfterMs: number }>
  /** The address of a cluster leads to another healthy one, for one tenant; a person accepts that one, or does not. */
  | Readonly<{ kind: "reroute"; cluster: Physical; tenant: number; forMs: number; acceptAfterMs: number | undefined }>
  | Readonly<{ kind: "back-up"; server: Physical | "kcp" }>
  /**
   * A server goes back to its last backup. `bump`: with revisions that were never used. Users of kcp either want again what they
   * wanted then, or apply again what they want now.
   */
  | Readonly<{ kind: "restore"; server: Physical | "kcp"; bump: boolean; users: "as-of-backup" | "apply-again" }>;

export type ServerFaults = Readonly<{
  happen(fault: ServerFault): void;
  /** Ends those that end. */
  cease(): void;
}>;

const serverFaultKinds: ReadonlySet<string> = new Set(["rebuild", "reroute", "back-up", "restore"]);
export function isServerFault(fault: Fault): fault is ServerFault {
  return serverFaultKinds.has(fault.kind);
}

/**
 * More than any run writes. The revision of a server that is restored so is never used twice, as after
 * `etcdutl snapshot restore --bump-revision`.
 */
const bumpRevision = 1_000_000;

type Backup = Readonly<{ server: StoreSnapshot; goBack: () => void }>;

/** Creates what happens to the servers of a run. */
export function createServerFaults(
  world: SimulationEnvironment,
  { user, people, seeded }: Readonly<{ user: User; people: People; seeded: Seeded }>,
): ServerFaults {
  const { servers, monitor, routes, log } = world;
  const backups = new Map<string, Backup>();
  /** As each cluster was when the run began. */
  const empty = new Map([...servers.clusters].map(([name, cluster]) => [name, cluster.snapshot()]));
  const endings = new Set<() => void>();
  const within = (ms: number, end: () => void): void => {
    const finish = (): void => {
      cancel();
      if (endings.delete(finish)) end();
    };
    const cancel = servers.clock.after(ms, finish);
    endings.add(finish);
  };

  const rebuild = ({ cluster: name, downMs, acceptAfterMs }: Extract<ServerFault, { kind: "rebuild" }>): void => {
    const cluster = servers.clusters.get(name);
    const first = empty.get(name);
    if (cluster === undefined || first === undefined) return;
    const outage = cluster.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    const snapshot: StoreSnapshot = {
      ...first,
      objects: first.objects.map(([key, object]) => {
        if (key.storage !== "namespaces" || key.name !== "kube-system") return [key, object];
        return [key, { ...object, metadata: { ...object.metadata, uid: generatedUid(seeded.next) } }];
      }),
    };
    monitor.restoring(name, () => cluster.restore(snapshot));
    // Nothing of the old one can be asked for any more; its backups are of another cluster.
    backups.delete(name);
    monitor.clusters.identityChanged(name);
    people.acceptAfter(acceptAfterMs);
    within(downMs, () => outage.remove());
  };
  const reroute = ({ cluster, tenant, forMs, acceptAfterMs }: Extract<ServerFault, { kind: "reroute" }>): void => {
    const route = `${servers.tenants[tenant]} ${cluster}`;
    if (routes.has(route)) return;
    const cut = (): void => {
      servers.clusters.get(cluster)?.faults.cutWatches();
      servers.clusters.get(spareName)?.faults.cutWatches();
      monitor.clusters.identityChanged(cluster);
    };
    routes.set(route, spareName);
    // Copies on the cluster that is replaced stay there, and nobody knows of them afterwards.
    if (acceptAfterMs === undefined) people.neverAccept(route);
    else {
      people.acceptAfter(acceptAfterMs);
      monitor.clusters.registrationGone(servers.tenants[tenant] ?? "", cluster);
    }
    cut();
    within(forMs, () => {
      log(`${route} leads to where it should`);
      routes.delete(route);
      people.mayAccept(route);
      cut();
    });
  };
  const backUp = (name: Physical | "kcp"): void => {
    const server = name === "kcp" ? servers.kcp : servers.clusters.get(name);
    if (server === undefined) return;
    const steps = name === "kcp" ? [monitor.save(), user.save()] : [];
    backups.set(name, {
      server: server.snapshot(),
      goBack: () => {
        for (const goBack of steps) goBack();
      },
    });
  };
  /** Tells the laws of what processes knew what kcp has now. */
  const noteRestored = ({ objects }: StoreSnapshot): void => {
    const idOf = ({ logicalCluster, plural, namespace, name }: Omit<ViewAddress, "server">): string =>
      `${logicalCluster} ${plural} ${namespace}/${name}`;
    const stored = new Map(
      objects.map(([{ storage, ...key }, object]) => [
        idOf({ ...key, plural: storage.split(".", 1)[0] ?? "" }),
        object,
      ]),
    );
    for (const view of world.views) view.wentBack(kcpServer, (address) => stored.get(idOf(address)));
  };
  const restore = ({ server: name, bump, users }: Extract<ServerFault, { kind: "restore" }>): void => {
    const server = name === "kcp" ? servers.kcp : servers.clusters.get(name);
    const backup = backups.get(name);
    if (server === undefined || backup === undefined) return;
    monitor.restoring(name, () => server.restore(backup.server, bump ? { bumpRevision } : {}));
    if (name !== "kcp") return;
    noteRestored(backup.server);
    if (users === "as-of-backup") backup.goBack();
    user.applyAgain();
  };

  return {
    happen: (fault) => {
      log(`fault ${JSON.stringify(fault)}`);
      switch (fault.kind) {
        case "rebuild":
          rebuild(fault);
          return;
        case "reroute":
          reroute(fault);
          return;
        case "back-up":
          backUp(fault.server);
          return;
        case "restore":
          restore(fault);
      }
    },
    cease: () => {
      for (const end of [...endings]) end();
    },
  };
}

/**
 * The steps whose inputs count in the end: what users did between a backup of kcp and its restore is undone if they then want
 * what they wanted at the backup. What happens on clusters stays.
 */
export function stepsThatCount(steps: readonly Step[]): readonly Step[] {
  let kept: Step[] = [];
  let backedUp: number | undefined;
  for (const step of steps) {
    kept.push(step);
    if (!("fault" in step)) continue;
    const { fault } = step;
    if (fault.kind === "back-up" && fault.server === "kcp") backedUp = kept.length;
    if (fault.kind !== "restore" || fault.server !== "kcp" || fault.users !== "as-of-backup") continue;
    if (backedUp === undefined) continue;
    const since = backedUp;
    kept = kept.filter((each, index) => index < since || !("input" in each) || isOnCluster(each.input.kind));
  }
  return kept;
}

const isOnCluster = (kind: string): boolean =>
  kind === "cluster" || kind === "hand" || kind === "foreign" || kind === "answer";
