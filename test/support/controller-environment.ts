import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { type Controller, createController } from "../../lib/controller/controller.ts";
import type { ControllerOptions } from "../../lib/controller/parts.ts";
import { type CredentialSource, notConfigured, outcomeOf } from "../../lib/credentials/credentials.ts";
import { placements, registrations, startTenants, type Tenants } from "../lib/upstream/tenants.ts";

export type ControllerEnvironment = Readonly<{
  tenants: Tenants;
  /** A client in the first workspace, and its logical cluster. */
  client: KubeClient;
  cluster: string;
  clusters: ReadonlyMap<string, EmbeddedCluster>;
  clock: ManualClock;
  /** A controller over all workspaces; stopped at the end. */
  controller(options?: Partial<ControllerOptions>): Controller;
  /** Starts a controller and waits until it is idle. */
  settled(options?: Partial<ControllerOptions>): Promise<Controller>;
  /**
   * Advances the clock from one due timer to the next. Everything that a timer causes, including its calls, is finished before
   * the clock advances further; otherwise calls would time out before their response. No step is longer than `stepMs`.
   */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** Waits until nothing more happens without advancing the clock. */
  rest(): Promise<void>;
  placement(name: string): Promise<KubeObject>;
  registration(name: string): Promise<KubeObject>;
  /** Counts the requests to kcp of one verb, or of all writes, from now on. */
  count(...verbs: readonly string[]): () => number;
  stop(): Promise<void>;
}>;

export type ControllerEnvironmentOptions = Readonly<{
  workspaces?: readonly string[];
  /** Registration name → name of the cluster that it connects to. @default east and west */
  reached?: Readonly<Record<string, string>>;
  /** Clusters that run no workloads themselves. @default none */
  controlPlanes?: readonly string[];
  /** Tokens of additional administrators of the clusters. */
  users?: Readonly<Record<string, string>>;
}>;

const writes = ["create", "update", "patch", "delete", "deletecollection"] as const;

/** Starts an embedded kcp with TMC's kinds, embedded clusters and a manual clock. */
export async function startControllerEnvironment({
  workspaces = ["root:demo"],
  reached = { east: "east", west: "west" },
  controlPlanes = [],
  users = {},
}: ControllerEnvironmentOptions = {}) {
  const clock = createManualClock();
  // The setup uses the system clock; meanwhile the manual clock must advance for kcp's own controllers.
  const turning = setInterval(() => clock.advance(0), 1);
  const tenants = await startTenants(workspaces, { clock });
  const clusters = new Map<string, EmbeddedCluster>();
  const administrators = Object.fromEntries(
    Object.entries(users).map(([token, name]) => [token, { name, groups: ["system:masters", "system:authenticated"] }]),
  );
  for (const name of new Set(Object.values(reached))) {
    const workloadControllers = !controlPlanes.includes(name);
    clusters.set(
      name,
      await startEmbeddedCluster({ name, listen: false, clock, users: administrators, workloadControllers }),
    );
  }
  clearInterval(turning);
  const controllers: Controller[] = [];
  const [cluster = ""] = tenants.clusters;
  const client = tenants.at(cluster);

  const operatorCredentials: CredentialSource = {
    find: async ({ key }) => {
      const name = reached[key.name] ?? "";
      const server = clusters.get(name)?.url;
      if (server === undefined) return notConfigured(`no kubeconfig is configured for cluster "${key.name}"`);
      // All embedded clusters have the same address; the name stands for what differs between their kubeconfigs.
      return outcomeOf({ server, ca: name }, { providedBy: "operator", nowMs: clock.now() });
    },
    invalidate: () => {},
  };
  const rest = async (): Promise<void> => {
    for (let quiet = 0; quiet < 5; quiet++) {
      clock.advance(0);
      await new Promise((resolve) => setImmediate(resolve));
      if (controllers.some(({ queue }) => queue.depth > 0 || queue.inFlight > 0)) quiet = -1;
    }
  };
  const controller = (options: Partial<ControllerOptions> = {}): Controller => {
    const made = createController({
      client: tenants.client,
      hubId: "kcp",
      workspaces,
      operatorCredentials,
      openTransport: (_endpoint, { key }) => {
        const found = clusters.get(reached[key.name] ?? "");
        if (found === undefined) throw new Error(`nothing leads to ${key.name}`);
        return found.transport();
      },
      clock,
      random: () => 0.5,
      ...options,
    });
    controllers.push(made);
    return made;
  };
  const stage: ControllerEnvironment = {
    tenants,
    client,
    cluster,
    clusters,
    clock,
    controller,
    settled: async (options) => {
      const made = controller(options);
      await made.start();
      await rest();
      await made.whenSettled();
      return made;
    },
    rest,
    pass: async (ms, stepMs = 1_000) => {
      const endMs = clock.now() + ms;
      while (clock.now() < endMs) {
        // A timer that is always due would stop the clock; a tenth of a step is far below the timeout of any call.
        clock.advance(Math.min(endMs - clock.now(), stepMs, Math.max(stepMs / 10, clock.nextMs ?? stepMs)));
        await rest();
      }
    },
    placement: (name) => client.get({ ...placements, name }),
    registration: (name) => client.get({ ...registrations, name }),
    count: (...verbs) => {
      const counted = (verbs.length > 0 ? verbs : writes).map((verb) =>
        tenants.kcp.faults.inject({ match: { verb }, effect: { kind: "delay", ms: 0 } }),
      );
      return () => counted.reduce((sum, { hits }) => sum + hits, 0);
    },
    stop: async () => {
      await stopAll(clock, controllers);
      for (const each of clusters.values()) await each.stop();
      await tenants.stop();
    },
  };
  return stage;
}

/** Stops controllers while the clock advances. */
async function stopAll(clock: Clock & Pick<ManualClock, "advance">, controllers: readonly Controller[]): Promise<void> {
  const turning = setInterval(() => clock.advance(1_000), 1);
  await Promise.all(controllers.map((each) => each.stop()));
  clearInterval(turning);
}

/** A field of an object's status. */
export function statusOf(object: KubeObject): Record<string, unknown> {
  return typeof object.status === "object" && object.status !== null ? { ...object.status } : {};
}

/** The reason of an object's Ready condition, behind its status: `True ClusterReady`. */
export function readyOf(object: KubeObject): string {
  const conditions = statusOf(object).conditions;
  const ready: unknown = Array.isArray(conditions)
    ? conditions.find((condition: { type?: unknown }) => condition.type === "Ready")
    : undefined;
  if (typeof ready !== "object" || ready === null || !("status" in ready) || !("reason" in ready)) return "none";
  return `${String(ready.status)} ${String(ready.reason)}`;
}
