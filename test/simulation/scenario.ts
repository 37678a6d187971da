import type { FaultRule } from "@tmc/embedded/server/faults.ts";
import type { ClusterRegistration } from "../../lib/api/cluster-registration.ts";
import type { ConfirmationInput } from "./confirmations.ts";
import {
  aDesiredPlacement,
  aDesiredRegistration,
  type DesiredPlacement,
  type DesiredRegistration,
} from "./desired-objects.ts";
import {
  aDesiredDependency,
  aDesiredDeployment,
  aDesiredService,
  type DesiredWorkload,
  dependencyNames,
  deploymentNames,
  serviceNames,
  type WorkloadKind,
} from "./desired-workloads.ts";
import { areDirectOnly, chooseFeatures } from "./features/features.ts";
import type { ForeignInput } from "./foreign-objects.ts";
import { chooseMode, type Mode } from "./mode.ts";
import { createSeeded, type Seeded } from "./seeded.ts";
import type { ServerFault } from "./server-faults.ts";
import { type Physical, physicalNames, tenantPaths, type WorkloadNamespace, workloadNamespaces } from "./servers.ts";
import { type TenancyInput, tenancySteps } from "./tenancy.ts";

/** How a cluster is; all but "up" end in a registration that is not Ready. */
export const clusterStates = ["up", "slow", "refuse", "hang", "stuck", "broken"] as const;
export type ClusterState = (typeof clusterStates)[number];
export const secretContents = ["one", "two", "wrong", "garbage", "missing"] as const;
export type SecretContent = (typeof secretContents)[number];

/** What happens to messages between the relay and the workers, each with its probability. */
export type QueueWeather = Readonly<{ lose: number; double: number; late: number; refuse: number; lateMs: number }>;
/** How long messages take on the wire, at most; watches may lag by more. */
export type WireWeather = Readonly<{ latencyMs: number; watchLagMs: number }>;

/** What people and clusters do: the same in the fault-free run. */
export type Input =
  | Readonly<{ kind: "register"; tenant: number; name: string; desired: DesiredRegistration }>
  | Readonly<{ kind: "register-anew"; tenant: number; name: string; desired: DesiredRegistration }>
  | Readonly<{ kind: "unregister"; tenant: number; name: string }>
  | Readonly<{ kind: "place"; tenant: number; name: string; desired: DesiredPlacement }>
  | Readonly<{ kind: "unplace"; tenant: number; name: string }>
  | Readonly<{ kind: "secret"; tenant: number; name: string; content: SecretContent }>
  | Readonly<{ kind: "apply"; tenant: number; name: string; desired: DesiredWorkload }>
  | Readonly<{ kind: "apply-anew"; tenant: number; name: string; desired: DesiredWorkload }>
  | Readonly<{ kind: "remove"; tenant: number; name: string; of: WorkloadKind; namespace: WorkloadNamespace }>
  /** The namespace of a workspace with these labels; undefined: it is deleted with everything in it. */
  | Readonly<{ kind: "namespace"; tenant: number; name: WorkloadNamespace; labels?: Labels | undefined }>
  /** What a registration mirrors, whichever form it has otherwise. */
  | Readonly<{ kind: "upsync"; tenant: number; name: string; upsync: ClusterRegistration["spec"]["upsync"] }>
  /** An object of a cluster's own users, in a namespace of the cluster; undefined: it is deleted. */
  | Readonly<{
      kind: "original";
      cluster: Physical;
      name: string;
      of: WorkloadKind;
      desired?: DesiredWorkload | undefined;
    }>
  | Readonly<{ kind: "cluster"; cluster: Physical; state: ClusterState }>
  | Readonly<{ kind: "hand"; cluster: Physical; tenant: number; deed: Deed }>
  | TenancyInput
  | ForeignInput
  | ConfirmationInput;

/** What somebody does on a cluster, in the namespace that a tenant's namespace has there; nothing where that is not to be found. */
export type Deed = Readonly<{ namespace: WorkloadNamespace; name: string }> &
  (
    | Readonly<{ do: "scale"; replicas: number }>
    | Readonly<{ do: "change" | "delete"; of: WorkloadKind }>
    /** Takes TMC's marks off a copy. */
    | Readonly<{ do: "unmark"; of: WorkloadKind }>
    /** Makes something of that name, unless there is something. */
    | Readonly<{ do: "squat" | "leave"; of: WorkloadKind }>
  );

/** What must leave no trace. */
export type Fault =
  | Readonly<{ kind: "kill"; restartAfterMs: number; skewMs: number }>
  | Readonly<{ kind: "kill-at-write"; nth: number; when: "before" | "after"; restartAfterMs: number }>
  | Readonly<{ kind: "terminate"; restartAfterMs: number }>
  | Readonly<{ kind: "second-controller"; forMs: number; skewMs: number }>
  | Readonly<{ kind: "kcp-fault"; rule: FaultRule; forMs: number }>
  | Readonly<{ kind: "kcp-partition"; requests: "hang" | "refuse"; tenant: number | undefined; forMs: number }>
  | Readonly<{ kind: "cluster-fault"; cluster: Physical; rule: FaultRule; forMs: number }>
  /** A Deployment in `wild` that may have copies is gone from kcp, and its deletion was not observed. */
  | Readonly<{ kind: "vanish"; tenant: number }>
  /** kcp answers requests for these resources of a tenant, or for all, with a status code, and ends watches. */
  | Readonly<{ kind: "unreadable"; tenant: number; resources: readonly string[]; code: number; forMs: number }>
  /** A user of a workspace changes or deletes a mirrored object. */
  | Readonly<{ kind: "change-mirror"; tenant: number; name: string; of: WorkloadKind; do: "change" | "delete" }>
  | Readonly<{ kind: "cut-watches" }>
  | Readonly<{ kind: "forget-history" }>
  | Readonly<{ kind: "queue-weather"; weather: QueueWeather; forMs: number }>
  | Readonly<{ kind: "wire-weather"; weather: WireWeather; forMs: number }>
  /** The wall clock of the running controller is set ahead or back, and after a time to where it was. */
  | Readonly<{ kind: "clock-jump"; byMs: number; forMs: number }>
  /** A cluster does not answer any more, until the run ends. */
  | Readonly<{ kind: "lasting-cluster"; cluster: Physical; requests: "hang" | "refuse" }>
  /** kcp does not answer requests of controllers for a tenant any more, until the run ends. */
  | Readonly<{ kind: "lasting-tenant"; tenant: number; requests: "hang" | "refuse" }>
  | ServerFault;

type Labels = Readonly<Record<string, string>>;

export type Step = Readonly<{ atMs: number }> & (Readonly<{ input: Input }> | Readonly<{ fault: Fault }>);

/** How a run ends, once everything has come to rest. */
export type Ending =
  /** As it is. */
  | "as-is"
  /** All placements are made anew, so that nothing of what they remember counts. */
  | "anew"
  /** All placements go, and equal ones are dealt out. */
  | "deal";

export type Scenario = Readonly<{
  seed: number;
  /** How the product runs. */
  mode: Mode;
  /** Whether the tenants are those of an APIExport, which are reached through its virtual workspaces. */
  throughExport: boolean;
  /** Names of the features that the seed has. */
  features: readonly string[];
  /** In the order of time. */
  steps: readonly Step[];
  endMs: number;
  finalStates: Readonly<Record<Physical, ClusterState>>;
  ending: Ending;
  /** How long nobody does anything in the end, to see whether anything still happens. */
  restMs: number;
  settings: Readonly<{
    workers: number;
    heartbeatSeconds: number;
    heartbeatWriteSeconds: number;
    resyncSeconds: number;
    relistSeconds: number;
  }>;
  failuresToUnready: number;
  /** How many copies may always leave at once. */
  alwaysAllowed: number;
  /** The share of all copies that may leave at once, in percent. */
  maxPercent: number;
  /** Whether several registrations of a tenant may stand for one cluster; what is there then depends on who came first. */
  isCrowded: boolean;
}>;

const names = ["east", "west", "north", "south"] as const;

const placementNames = Array.from({ length: 12 }, (_, index) => `p${index}`);

/** The share of the seeds in the mode functions that are deployed for all tenants of an export. */
const exportShare = 0.3;

/** What the generator remembers, so that its steps make sense. */
type Model = {
  readonly registrations: Map<string, DesiredRegistration>[];
  readonly placements: Set<string>[];
  /** For which cluster a tenant's registration of a name stands, however often it is made. */
  readonly physical: ReadonlyMap<string, Physical>[];
};

/** Makes the scenario of a seed: who is there, what happens when, and how it ends. */
export function generateScenario(
  seed: number,
  forcedFeatures: readonly string[] = [],
  forcedMode: Mode | undefined = undefined,
): Scenario {
  const seeded = createSeeded(seed).fork("scenario");
  const model: Model = { registrations: [], placements: [], physical: [] };
  const isCrowded = seeded.chance(0.12);
  const steps: Step[] = [];
  let atMs = 0;
  const add = (step: Readonly<{ input: Input }> | Readonly<{ fault: Fault }>): void => {
    steps.push({ atMs, ...step });
  };

  for (const _ of tenantPaths) {
    const dealt = seeded.shuffled(physicalNames);
    const physical = new Map(
      names.map((name, index) => [name, isCrowded ? seeded.pick(physicalNames) : (dealt[index] ?? "c0")]),
    );
    const registrations = new Map<string, DesiredRegistration>();
    for (const name of names.slice(0, seeded.between(2, 4))) {
      registrations.set(name, aDesiredRegistration(seeded, physical.get(name) ?? "c0"));
    }
    model.registrations.push(registrations);
    model.physical.push(physical);
    model.placements.push(new Set(Array.from({ length: seeded.between(2, 7) }, (_each, index) => `p${index}`)));
  }
  const first: Input[] = model.registrations.flatMap((registrations, tenant) => [
    ...[...registrations].map(([name, desired]): Input => ({ kind: "register", tenant, name, desired })),
    ...[...(model.placements[tenant] ?? [])].map(
      (name): Input => ({ kind: "place", tenant, name, desired: aDesiredPlacement(seeded, name, names) }),
    ),
    ...workloadNamespaces.flatMap((namespace) => firstWorkloads(seeded, tenant, namespace)),
  ]);
  for (const input of seeded.shuffled(first)) add({ input });
  for (const cluster of seeded.some(physicalNames, 0.15)) {
    add({ input: { kind: "cluster", cluster, state: seeded.pick(clusterStates) } });
  }

  const faultShare = seeded.pick([0.3, 0.5, 0.7]);
  const count = seeded.between(18, 50);
  for (let index = 0; index < count; index++) {
    atMs += pauseMs(seeded);
    if (seeded.chance(faultShare)) add({ fault: aFault(seeded) });
    else add({ input: anInput(seeded, model) });
  }
  if (forcedMode !== undefined && forcedMode !== "direct" && areDirectOnly(forcedFeatures)) {
    throw new Error(`simulation: ${forcedFeatures.join()} cannot run in the mode ${forcedMode}`);
  }
  const neededMode = areDirectOnly(forcedFeatures) ? "direct" : forcedMode;
  const mode = chooseMode(createSeeded(seed).fork("mode"), neededMode);
  const features = chooseFeatures(createSeeded(seed).fork("features"), mode, forcedFeatures);
  const hasFeature = (name: string): boolean => features.some((feature) => feature.name === name);
  const extra = features.flatMap((feature) =>
    feature.steps(createSeeded(seed).fork(`feature ${feature.name}`), { endMs: atMs }),
  );
  const throughExport =
    mode === "export" || (mode === "functions" && createSeeded(seed).fork("through export").chance(exportShare));
  const tenancy = throughExport ? tenancySteps(createSeeded(seed).fork("tenancy"), atMs) : [];
  const allWell = seeded.chance(0.6);
  const state = (): ClusterState => (allWell || seeded.chance(0.5) ? "up" : seeded.pick(clusterStates));
  return {
    seed,
    mode,
    throughExport,
    features: features.map(({ name }) => name),
    // Stable, so that steps of one moment keep their order.
    steps: [...steps, ...extra, ...tenancy].toSorted((one, other) => one.atMs - other.atMs),
    endMs: atMs + seeded.between(0, 20_000),
    finalStates: { c0: state(), c1: state(), c2: state(), c3: state(), ...lastingStates(extra) },
    ending: seeded.pick(["as-is", "anew", "deal"]),
    restMs: seeded.pick([600_000, 120_000, 120_000]),
    settings: {
      workers: seeded.between(1, 5),
      heartbeatWriteSeconds: seeded.pick([60, 3600, 3600, 3600]),
      resyncSeconds: seeded.pick([30, 60, 120, 120]),
      ...moreSettings([...steps, ...extra], createSeeded(seed).fork("settings")),
    },
    ...limits(createSeeded(seed).fork("limits")),
    alwaysAllowed: seeded.chance(0.15) || hasFeature("confirmations") ? 2 : 1_000,
    isCrowded,
  };
}

/** The clusters that do not answer any more. */
function lastingStates(steps: readonly Step[]): Partial<Record<Physical, ClusterState>> {
  return Object.fromEntries(
    steps.flatMap((step) =>
      "fault" in step && step.fault.kind === "lasting-cluster" ? [[step.fault.cluster, step.fault.requests]] : [],
    ),
  );
}

/** From choices of their own, so that a new setting leaves the other choices of a seed as they are. */
function moreSettings(
  steps: readonly Step[],
  seeded: Seeded,
): Pick<Scenario["settings"], "heartbeatSeconds" | "relistSeconds"> {
  const heartbeatSeconds = seeded.pick([30, 30, 30, 20]);
  const relistSeconds = seeded.pick([150, 300, 600, 1_800]);
  // Only a list repairs a watch that stays open and says nothing, and a run does not wait for half an hour.
  const isSilenced = steps.some(
    (step) =>
      "fault" in step &&
      (step.fault.kind === "vanish" || ("rule" in step.fault && step.fault.rule.effect.kind === "stall-watch")),
  );
  return { heartbeatSeconds, relistSeconds: isSilenced ? 150 : relistSeconds };
}

function limits(seeded: Seeded): Pick<Scenario, "failuresToUnready" | "maxPercent"> {
  return { failuresToUnready: seeded.pick([3, 3, 2, 4]), maxPercent: seeded.pick([30, 30, 50]) };
}

/** What a tenant has in a namespace in the beginning. */
function firstWorkloads(seeded: Seeded, tenant: number, namespace: WorkloadNamespace): Input[] {
  const isWild = namespace === "wild";
  const apply = (name: string, desired: DesiredWorkload): Input => ({ kind: "apply", tenant, name, desired });
  const dependencies = seeded.some(dependencyNames, 0.7);
  const deployments = deploymentNames.slice(0, isWild ? seeded.between(0, 2) : seeded.between(1, 4));
  const services = serviceNames.slice(0, seeded.between(0, isWild ? 1 : 2));
  return [
    ...dependencies.map((name) => apply(name, aDesiredDependency(seeded, namespace, { name }))),
    ...deployments.map((name) =>
      apply(name, aDesiredDeployment(seeded, namespace, { name, places: firstPlaces, clusters: names })),
    ),
    ...services.map((name) =>
      apply(name, aDesiredService(seeded, namespace, { places: firstPlaces, clusters: names })),
    ),
  ];
}

/** Placements that every tenant, or nearly every one, has. */
const firstPlaces = placementNames.slice(0, 4);

/** A change of a workload or of a dependency. */
function aWorkloadInput(seeded: Seeded, tenant: number): Input {
  const namespace = seeded.chance(0.75) ? "shop" : "wild";
  const places = seeded.chance(0.8) ? firstPlaces : placementNames;
  const kind = seeded.next();
  const [name, of, make] = ((): [string, WorkloadKind, (name: string) => DesiredWorkload] => {
    if (kind < 0.6) {
      const deployment = seeded.pick(deploymentNames);
      return [
        deployment,
        "Deployment",
        () => aDesiredDeployment(seeded, namespace, { name: deployment, places, clusters: names }),
      ];
    }
    if (kind < 0.75) {
      return [
        seeded.pick(serviceNames),
        "Service",
        () => aDesiredService(seeded, namespace, { places, clusters: names }),
      ];
    }
    const dependency = seeded.pick(dependencyNames);
    const isSecret = dependency.startsWith("secret");
    return [
      dependency,
      isSecret ? "Secret" : "ConfigMap",
      () => aDesiredDependency(seeded, namespace, { name: dependency }),
    ];
  })();
  if (seeded.chance(0.25)) return { kind: "remove", tenant, name, of, namespace };
  return { kind: seeded.chance(0.1) ? "apply-anew" : "apply", tenant, name, desired: make(name) };
}

/** Something that somebody does on a cluster. */
function aDeed(seeded: Seeded): Deed {
  const namespace = seeded.chance(0.6) ? "shop" : "wild";
  const [deployment, dependency] = [seeded.pick(deploymentNames), seeded.pick(dependencyNames)];
  const ofDependency: WorkloadKind = dependency.startsWith("secret") ? "Secret" : "ConfigMap";
  const number = seeded.between(0, 2);
  const deeds: Deed[] = [
    { namespace, name: deployment, do: "scale", replicas: seeded.between(0, 3) },
    { namespace, name: deployment, do: "change", of: "Deployment" },
    { namespace, name: deployment, do: "delete", of: "Deployment" },
    { namespace, name: dependency, do: seeded.pick(["change", "delete"]), of: ofDependency },
    { namespace, name: seeded.pick(serviceNames), do: "delete", of: "Service" },
    { namespace, name: `stranger-${number}`, do: "leave", of: seeded.pick(["ConfigMap", "Deployment"]) },
    { namespace: "wild", name: deployment, do: seeded.pick(["squat", "unmark"]), of: "Deployment" },
    { namespace: "wild", name: dependency, do: seeded.pick(["squat", "unmark"]), of: ofDependency },
  ];
  return seeded.pick(deeds);
}

/** Steps come in bursts, with long rests in between: races need the one, timers the other. */
function pauseMs(seeded: Seeded): number {
  const length = seeded.next();
  if (length < 0.35) return seeded.between(0, 50);
  if (length < 0.7) return seeded.between(100, 3_000);
  if (length < 0.93) return seeded.between(3_000, 30_000);
  return seeded.between(30_000, 150_000);
}

function anInput(seeded: Seeded, { registrations, placements, physical }: Model): Input {
  const tenant = seeded.between(0, tenantPaths.length - 1);
  const share = seeded.next();
  if (share < 0.35) return aWorkloadInput(seeded, tenant);
  if (share < 0.5) return { kind: "hand", cluster: seeded.pick(physicalNames), tenant, deed: aDeed(seeded) };
  const registered = registrations[tenant] ?? new Map<string, DesiredRegistration>();
  const placed = placements[tenant] ?? new Set<string>();
  const kind = seeded.next();
  if (kind < 0.3) {
    const name = seeded.chance(0.6) && placed.size > 0 ? seeded.pick([...placed]) : seeded.pick(placementNames);
    placed.add(name);
    return { kind: "place", tenant, name, desired: aDesiredPlacement(seeded, name, names) };
  }
  if (kind < 0.37 && placed.size > 0) {
    const name = seeded.pick([...placed]);
    placed.delete(name);
    return { kind: "unplace", tenant, name };
  }
  if (kind < 0.62 && registered.size > 0) {
    const [name, { cluster }] = seeded.pick([...registered]);
    const desired = aDesiredRegistration(seeded, cluster);
    registered.set(name, desired);
    return { kind: seeded.chance(0.2) ? "register-anew" : "register", tenant, name, desired };
  }
  if (kind < 0.7) {
    const name = seeded.pick(names);
    if (registered.has(name) && registered.size > 1) {
      registered.delete(name);
      return { kind: "unregister", tenant, name };
    }
    const desired = aDesiredRegistration(seeded, physical[tenant]?.get(name) ?? "c0");
    registered.set(name, desired);
    return { kind: "register", tenant, name, desired };
  }
  if (kind < 0.78) return { kind: "secret", tenant, name: seeded.pick(names), content: seeded.pick(secretContents) };
  const state: ClusterState = seeded.chance(0.5) ? "up" : seeded.pick(clusterStates);
  return { kind: "cluster", cluster: seeded.pick(physicalNames), state };
}

function aFault(seeded: Seeded): Fault {
  const forMs = seeded.pick([500, 5_000, 20_000, 60_000]);
  const restartAfterMs = seeded.pick([0, 100, 5_000, 40_000]);
  const skewMs = seeded.chance(0.7) ? 0 : seeded.between(-120_000, 120_000);
  const make = seeded.pick<() => Fault>([
    () => ({ kind: "kill", restartAfterMs, skewMs }),
    () => ({
      kind: "kill-at-write",
      nth: seeded.between(1, 8),
      when: seeded.pick(["before", "after"]),
      restartAfterMs,
    }),
    () => ({
      kind: "kill-at-write",
      nth: seeded.between(1, 3),
      when: seeded.pick(["before", "after"]),
      restartAfterMs,
    }),
    () => ({ kind: "terminate", restartAfterMs }),
    () => ({ kind: "second-controller", forMs, skewMs }),
    () => ({ kind: "kcp-fault", rule: aKcpRule(seeded), forMs }),
    () => ({ kind: "kcp-fault", rule: aKcpRule(seeded), forMs }),
    () => ({
      kind: "kcp-partition",
      requests: seeded.pick(["hang", "refuse"]),
      tenant: seeded.pick([undefined, 0, 1]),
      forMs,
    }),
    () => ({ kind: "cluster-fault", cluster: seeded.pick(physicalNames), rule: aClusterRule(seeded), forMs }),
    () => ({ kind: "cluster-fault", cluster: seeded.pick(physicalNames), rule: aClusterRule(seeded), forMs }),
    () => ({ kind: "cut-watches" }),
    () => ({ kind: "forget-history" }),
    () => ({ kind: "queue-weather", weather: aQueueWeather(seeded), forMs }),
    () => ({ kind: "queue-weather", weather: aQueueWeather(seeded), forMs }),
    () => ({
      kind: "wire-weather",
      weather: { latencyMs: seeded.pick([5, 50, 1_500]), watchLagMs: seeded.pick([0, 100, 4_000]) },
      forMs,
    }),
  ]);
  return make();
}

function aKcpRule(seeded: Seeded): FaultRule {
  const count = seeded.between(1, 6);
  const skip = seeded.between(0, 3);
  const writes = { verb: "patch" };
  return seeded.pick<FaultRule>([
    { effect: { kind: "reset", when: "before" }, match: writes, count, skip },
    { effect: { kind: "reset", when: "after" }, match: writes, count, skip },
    { effect: { kind: "reset", when: "after" }, count, skip },
    { effect: { kind: "status", code: 409 }, match: writes, count, skip },
    { effect: { kind: "status", code: 429, retryAfterSeconds: seeded.between(1, 3) }, count, skip },
    { effect: { kind: "status", code: 500 }, count, skip },
    { effect: { kind: "status", code: 503 }, count, skip },
    { effect: { kind: "status", code: 504 }, match: writes, count, skip },
    { effect: { kind: "delay", ms: seeded.pick([20, 2_000, 12_000, 40_000]) }, count, skip },
    { effect: { kind: "cut-watch", afterEvents: seeded.between(0, 3) }, count },
    { effect: { kind: "stall-watch", afterEvents: seeded.between(0, 2) }, count: 2 },
    { effect: { kind: "stale-read", revisionsBack: seeded.between(1, 12) }, count },
    { effect: { kind: "expired" }, count: seeded.between(1, 3) },
  ]);
}

function aClusterRule(seeded: Seeded): FaultRule {
  const count = seeded.between(1, 4);
  const skip = seeded.between(0, 3);
  const writes = { verb: seeded.pick(["patch", "delete", "create"]) };
  return seeded.pick<FaultRule>([
    { effect: { kind: "reset", when: "before" }, count },
    { effect: { kind: "reset", when: seeded.pick(["before", "after"]) }, match: writes, count, skip },
    { effect: { kind: "status", code: 500 }, count },
    { effect: { kind: "status", code: seeded.pick([409, 500, 504]) }, match: writes, count, skip },
    { effect: { kind: "status", code: 429 }, count },
    { effect: { kind: "status", code: 401 }, count },
    { effect: { kind: "delay", ms: seeded.pick([500, 10_000]) }, count },
    { effect: { kind: "partition", requests: seeded.pick(["hang", "refuse"]) } },
    { effect: { kind: "cut-watch", afterEvents: seeded.between(0, 3) }, count },
    { effect: { kind: "stall-watch", afterEvents: seeded.between(0, 2) }, count: 2 },
    { effect: { kind: "stale-read", revisionsBack: seeded.between(1, 12) }, count },
    { effect: { kind: "expired" }, count: seeded.between(1, 3) },
  ]);
}

function aQueueWeather(seeded: Seeded): QueueWeather {
  return {
    lose: seeded.pick([0, 0.2, 1]),
    double: seeded.pick([0, 0.3]),
    late: seeded.pick([0, 0.5]),
    refuse: seeded.pick([0, 0.3]),
    lateMs: seeded.pick([10, 1_000, 20_000]),
  };
}
