import type { KubeClient } from "@tmc/kube/client.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { exportName, exportWorkspace } from "../../lib/api/group.ts";
import { type Controller, createController } from "../../lib/controller/controller.ts";
import { notConfigured, outcomeOf } from "../../lib/credentials/credentials.ts";
import type { WorkItem } from "../../lib/model/work-item.ts";
import type { ScopeChoice } from "../../lib/relay/scope.ts";
import type { ShardConfig } from "../../lib/sources/shard.ts";
import type { ExportAddress } from "../../lib/upstream/export/address.ts";
import { causes } from "./cause.ts";
import { simulatedHubId } from "./copies.ts";
import type { SimulationEnvironment } from "./environment.ts";
import { createLife, runWork, type SimProcess } from "./process-life.ts";
import type { Sabotage } from "./sabotage.ts";
import { tenantPaths } from "./servers.ts";

export type ProcessOptions = Readonly<{
  world: SimulationEnvironment;
  name: string;
  skewMs: number;
  /** The part that this controller has, where there are several. */
  shard?: ShardConfig | undefined;
  /** Called once, when it has ended for whatever reason. */
  onExit(process: SimProcess): void;
  sabotage?: Sabotage | undefined;
}>;

/** More than any chain of reactions needs. */
const mostWorksAtOnce = 3_000;

/** The tenants of a run: their workspaces, or the export that they have bound. */
export function scopeOf({ throughExport }: SimulationEnvironment, client: KubeClient): ScopeChoice {
  if (!throughExport) return { workspaces: tenantPaths };
  // The virtual workspaces are on kcp's own server, so no other endpoint is opened.
  return { workspaces: undefined, apiExport: { address: simulatedExport, openEndpoint: () => client } };
}
export const simulatedExport: ExportAddress = { path: exportWorkspace, name: exportName };

/** Starts a controller in a process of its own. */
export function startProcess({ world, name, skewMs, shard, onExit, sabotage }: ProcessOptions): SimProcess {
  const { servers, weather, monitor } = world;
  const life = createLife({ world, name, skewMs, onExit: () => onExit(process) });
  const { clock, dice, kill } = life;
  let busy = { atMs: 0, works: 0 };

  const client = createKubeClient({
    endpoint: { server: servers.kcp.url },
    transport: life.kcpWire,
    name: "kcp",
    clock,
    random: dice.next,
  });
  // One object: the law's bookkeeping knows a process by it.
  const process: SimProcess = Object.assign(life, {
    terminate: () => {
      world.log(`${name} is asked to end`);
      causes.run({ process }, () => {
        controller.stop().then(
          () => {
            if (life.alive && life.timers > 0) monitor.stoppedWithTimers(name, life.timers);
            kill();
          },
          (error: unknown) => world.fail("a controller fails to stop", error),
        );
      });
    },
  });
  const controller = causes.run({ process }, () => {
    const made = createController({
      client,
      hubId: simulatedHubId,
      ...scopeOf(world, client),
      shard,
      operatorCredentials: {
        find: async ({ key, registration }) => {
          const server = world.operatorServer(key, registration);
          if (server === undefined) return notConfigured(`no kubeconfig is configured for cluster "${key.name}"`);
          const token = world.operatorToken(key.logicalCluster);
          return outcomeOf({ server, token: async () => token }, { providedBy: "operator", nowMs: clock.now() });
        },
        invalidate: () => {},
      },
      openTransport: ({ server }, { key }) => {
        const wire = life.clusterWire(key, new URL(server).hostname.split(".", 1)[0] ?? "");
        return sabotage?.clusterTransport?.(wire) ?? wire;
      },
      settings: world.settings,
      clock,
      random: dice.next,
    });
    bendQueue(made);
    made.start().catch((error: unknown) => {
      if (!life.alive) return;
      world.log(`${name} cannot start: ${error instanceof Error ? error.message : String(error)}`);
      kill();
    });
    return made;
  });
  world.log(`${name} starts, ${skewMs} ms ahead`);
  return process;

  /** Whoever works on and on while no time passes would never let any pass. */
  function isTooBusy(): boolean {
    const nowMs = servers.clock.now();
    busy = busy.atMs === nowMs ? { atMs: nowMs, works: busy.works + 1 } : { atMs: nowMs, works: 1 };
    if (busy.works <= mostWorksAtOnce) return false;
    monitor.broken(2, `${name} does not come to rest`);
    kill();
    return true;
  }

  /** A message on its way is no timer of the controller's. */
  function later(ms: number, deliver: () => void): void {
    servers.clock.after(ms, () => {
      if (life.alive) causes.run({ process }, deliver);
    });
  }

  /** Puts the weather between everyone who sends keys and the workers, and notes what each work is for. */
  function bendQueue({ queue }: Controller): void {
    const { send, run } = queue;
    const deliver = (items: readonly WorkItem[]): void => {
      send(items).catch((error: unknown) => world.fail("the queue refuses keys", error));
    };
    Object.assign(queue, {
      send: async (sent: readonly WorkItem[]): Promise<void> => {
        monitor.sent(sent, causes.getStore());
        const { lose, double, late, refuse, lateMs } = weather.queue;
        if (refuse > 0 && dice.chance(refuse)) throw new ControllerError("throttled", "queue: try again later");
        const items = sabotage?.keys?.(sent, servers.tenants) ?? sent;
        if (lose + double + late === 0) return send(items);
        const now: WorkItem[] = [];
        for (const item of dice.shuffled(items)) {
          if (dice.chance(lose)) continue;
          if (dice.chance(double)) later(dice.next() * lateMs, () => deliver([item]));
          if (dice.chance(late)) later(dice.next() * lateMs, () => deliver([item]));
          else now.push(item);
        }
        return send(now);
      },
      run: ((work, options) =>
        run(async (item, signal) => {
          world.log(`${name} works on ${item.key.logicalCluster}/${item.key.kind}/${item.key.name}: ${item.reason}`);
          monitor.works(item);
          if (isTooBusy()) return new Promise<never>(() => {});
          return runWork(process, item, async () => {
            const next = await work(item, signal);
            await sabotage?.afterWork?.(item, client, servers.tenants);
            sabotage?.onClusters?.(item, servers.clusters, servers.tenants);
            return next;
          });
        }, options)) satisfies Controller["queue"]["run"],
    });
  }
}
