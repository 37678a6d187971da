import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type Controller, type ControllerOptions, createController } from "../../../lib/controller/controller.ts";
import { asOutcome, type CredentialSource, notConfigured } from "../../../lib/credentials/credentials.ts";
import { createManualClock, type ManualClock } from "../../support/manual-clock.ts";
import { placements, registrations, startTenants, type Tenants } from "../upstream/tenants.ts";

export type Stage = Readonly<{
  tenants: Tenants;
  /** A client in the first workspace, and its logical cluster. */
  client: KubeClient;
  cluster: string;
  clusters: ReadonlyMap<string, EmbeddedCluster>;
  clock: ManualClock;
  /** A controller over all workspaces; stopped at the end. */
  controller(options?: Partial<ControllerOptions>): Controller;
  /** Started, and settled. */
  settled(options?: Partial<ControllerOptions>): Promise<Controller>;
  /**
   * Lets handed-in time pass, from one thing that falls due to the next: whatever follows from one, and any call that it makes, is
   * done before the time goes on. A call's own time would be over otherwise before it has been answered. No step is longer than
   * `stepMs`.
   */
  pass(ms: number, stepMs?: number): Promise<void>;
  /** Lets everything happen that needs no time. */
  rest(): Promise<void>;
  placement(name: string): Promise<KubeObject>;
  registration(name: string): Promise<KubeObject>;
  /** Counts the requests to kcp of one verb, or of all writes, from now on. */
  count(...verbs: readonly string[]): () => number;
  stop(): Promise<void>;
}>;

export type StageOptions = Readonly<{
  workspaces?: readonly string[];
  /** The names of registrations that lead to a cluster, and the cluster each leads to. @default east and west */
  reached?: Readonly<Record<string, string>>;
  /** The clusters' administrators besides their own, by their tokens. */
  users?: Readonly<Record<string, string>>;
}>;

const writes = ["create", "update", "patch", "delete", "deletecollection"] as const;

/** Sets up a kcp with our kinds, clusters and a clock that stands still, all in this process. */
export async function setStage({
  workspaces = ["root:demo"],
  reached = { east: "east", west: "west" },
  users = {},
}: StageOptions = {}) {
  const clock = createManualClock();
  // Setting up waits for the machine's time; meanwhile kcp's own controllers must get their turn.
  const turning = setInterval(() => clock.advance(0), 1);
  const tenants = await startTenants(workspaces, { clock });
  const clusters = new Map<string, EmbeddedCluster>();
  const administrators = Object.fromEntries(
    Object.entries(users).map(([token, name]) => [token, { name, groups: ["system:masters", "system:authenticated"] }]),
  );
  for (const name of new Set(Object.values(reached))) {
    clusters.set(name, await startEmbeddedCluster({ name, listen: false, clock, users: administrators }));
  }
  clearInterval(turning);
  const controllers: Controller[] = [];
  const [cluster = ""] = tenants.clusters;
  const client = tenants.at(cluster);

  const operatorCredentials: CredentialSource = {
    find: async ({ key }) => {
      const server = clusters.get(reached[key.name] ?? "")?.url;
      if (server === undefined) return notConfigured(`no kubeconfig is given for cluster "${key.name}"`);
      return asOutcome({ server }, { givenBy: "operator", nowMs: clock.now() });
    },
    forget: () => {},
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
  const stage: Stage = {
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
        // What falls due again and again would have time stand still; a tenth of a step is far less than any call has.
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

/** Stops controllers while their time passes. */
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
