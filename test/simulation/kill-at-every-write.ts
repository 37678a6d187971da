import type { DesiredPlacement, DesiredRegistration } from "./desired-objects.ts";
import type { DesiredWorkload } from "./desired-workloads.ts";
import type { Violation } from "./monitor.ts";
import type { Input, Scenario, Step } from "./scenario.ts";
import type { Servers } from "./servers.ts";
import { type Run, runScenario, violationsOf } from "./simulate.ts";

const desired = (
  cluster: DesiredRegistration["cluster"],
  credentialKind: DesiredRegistration["credentialKind"],
): DesiredRegistration => ({
  cluster,
  credentialKind,
  labels: {},
  spec: { location: "us-west-2" },
});
const at = (seconds: number, input: Input): Step => ({ atMs: seconds * 1000, input });

const frame = {
  seed: 1,
  mode: "direct",
  throughExport: false,
  features: [],
  finalStates: { c0: "up", c1: "up", c2: "up", c3: "up" },
  ending: "as-is",
  restMs: 0,
  settings: { workers: 2, heartbeatSeconds: 30, heartbeatWriteSeconds: 3600, resyncSeconds: 60, relistSeconds: 150 },
  failuresToUnready: 3,
  alwaysAllowed: 1_000,
  maxPercent: 30,
  isCrowded: false,
} as const;

/** A little of everything that makes a controller write about clusters and placements. */
export const placing: Scenario = {
  ...frame,
  endMs: 130_000,
  steps: [
    at(0, { kind: "register", tenant: 0, name: "east", desired: desired("c0", "operator") }),
    at(0, { kind: "register", tenant: 0, name: "west", desired: desired("c1", "token") }),
    at(0, { kind: "place", tenant: 0, name: "web", desired: { annotations: {}, spec: { strategy: "Spread" } } }),
    at(1, { kind: "place", tenant: 0, name: "one", desired: { annotations: {}, spec: { strategy: "RoundRobin" } } }),
    at(5, { kind: "secret", tenant: 0, name: "west", content: "two" }),
    at(10, { kind: "cluster", cluster: "c0", state: "refuse" }),
    at(110, { kind: "cluster", cluster: "c0", state: "up" }),
    at(120, { kind: "unregister", tenant: 0, name: "west" }),
  ],
};

/** A Deployment of two replicas that a placement of that name is about. */
export const aDeployment = (
  name: string,
  place: string,
  image = 1,
  dependencies: readonly string[] = [],
): DesiredWorkload => ({
  namespace: "shop",
  labels: { place },
  annotations: {},
  body: {
    apiVersion: "apps/v1",
    kind: "Deployment",
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 0,
          containers: [
            {
              name: "main",
              image: `registry.example/shop:${image}`,
              envFrom: dependencies.map((each) => ({ configMapRef: { name: each } })),
            },
          ],
        },
      },
    },
  },
});
/** A Service before a Deployment. */
export const aService = (name: string, place: string): DesiredWorkload => ({
  namespace: "shop",
  labels: { place },
  annotations: {},
  body: {
    apiVersion: "v1",
    kind: "Service",
    spec: { selector: { app: name }, ports: [{ name: "http", port: 80, protocol: "TCP" }] },
  },
});
const config = (word: string): DesiredWorkload => ({
  namespace: "shop",
  labels: {},
  annotations: {},
  body: { apiVersion: "v1", kind: "ConfigMap", data: { word } },
});
const apply = (name: string, each: DesiredWorkload): Input => ({ kind: "apply", tenant: 0, name, desired: each });
/** What a placement says that is about the workloads with its name. */
export const selecting = (name: string, spec: DesiredPlacement["spec"]): DesiredPlacement["spec"] => ({
  workloadSelector: { labelSelector: { matchLabels: { place: name } }, namespaces: ["shop"] },
  ...spec,
});
const place = (name: string, spec: DesiredPlacement["spec"]): Input => ({
  kind: "place",
  tenant: 0,
  name,
  desired: { annotations: {}, spec: selecting(name, spec) },
});
/** Which placement a workload of a number has. */
const placeOf = (number: number): string => (number % 3 === 0 ? "divided" : "all");

const workloads: readonly Input[] = Array.from({ length: 20 }, (_, number) =>
  number < 15
    ? apply(`d${number}`, aDeployment(`d${number}`, placeOf(number), 1, number < 4 ? ["config-a"] : []))
    : apply(`s${number}`, aService(`d${number}`, placeOf(number))),
);

/** Three clusters and twenty workloads: they come, change, move, and some of them go. */
export const syncing: Scenario = {
  ...frame,
  endMs: 60_000,
  steps: [
    at(0, { kind: "register", tenant: 0, name: "east", desired: desired("c0", "operator") }),
    at(0, { kind: "register", tenant: 0, name: "west", desired: desired("c1", "operator") }),
    at(0, { kind: "register", tenant: 0, name: "north", desired: desired("c2", "operator") }),
    at(0, place("all", { strategy: "Spread", clusterNames: ["east", "west"] })),
    at(0, place("divided", { strategy: "Spread", replicas: { mode: "Divided" } })),
    at(1, apply("config-a", config("b25l"))),
    ...workloads.map((input) => at(2, input)),
    at(10, apply("d1", aDeployment("d1", "all", 2, ["config-a"]))),
    at(10, apply("config-a", config("dHdv"))),
    at(12, { kind: "remove", tenant: 0, name: "d0", of: "Deployment", namespace: "shop" }),
    at(12, { kind: "remove", tenant: 0, name: "s15", of: "Service", namespace: "shop" }),
    // No placement is about it any more.
    at(14, apply("d2", aDeployment("d2", "nowhere"))),
    at(16, {
      kind: "hand",
      cluster: "c0",
      tenant: 0,
      deed: { namespace: "shop", name: "d4", do: "scale", replicas: 0 },
    }),
    // All that are on west move to north.
    at(20, place("all", { strategy: "Spread", clusterNames: ["east", "north"] })),
    at(30, { kind: "unregister", tenant: 0, name: "west" }),
  ],
};

/** What came of a controller that died at one of its writes. */
export type Death = Readonly<{ nth: number; when: "before" | "after"; violations: readonly Violation[] }>;

/** A run without deaths, and how many writes there are to die at. */
export type Undisturbed = Readonly<{ oracle: Run; whole: Run }>;

/** Runs a scenario without faults, and once more as the runs with deaths are run. */
export async function runUndisturbed(scenario: Scenario, servers: Servers): Promise<Undisturbed> {
  // The number of its seed has the fault-free run take its time, so that it goes the same way.
  const unhurried = { ...scenario, seed: 10 };
  const oracle = await runScenario(unhurried, { servers }, "without faults");
  return { oracle, whole: await runScenario(scenario, { servers }, "with faults") };
}

/** Has a controller die before and after each of these writes, each time in a run of its own. */
export async function* dieAtWrites(
  scenario: Scenario,
  { servers, oracle, writes }: Readonly<{ servers: Servers; oracle: Run; writes: Iterable<number> }>,
): AsyncGenerator<Death> {
  for (const nth of writes) {
    for (const when of ["before", "after"] as const) {
      const death: Step = { atMs: 0, fault: { kind: "kill-at-write", nth, when, restartAfterMs: 1_000 } };
      const steps = [death, ...scenario.steps];
      const found = await runScenario({ ...scenario, steps }, { servers }, "with faults");
      yield { nth, when, violations: violationsOf(oracle, found) };
    }
  }
}
