import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey } from "../model/key.ts";
import { ClusterLoad } from "./cluster-load.ts";
import {
  defaultMassFailureSettings,
  type MassFailure,
  type MassFailureSettings,
  massFailuresOfTenants,
} from "./mass-failure.ts";
import { type ClusterFacts, clusterFacts, type ObservedPlacement, type RegistrationInput } from "./observed.ts";
import type { PlacementWorld, SelectedWorkloads } from "./reconcile.ts";

export type PlacementWorldOptions = Readonly<{
  hub: Hub;
  clock: Clock;
  /**
   * How long a counted load is reused in a logical cluster with more than `maxPlacementsCountedEachTime` placements, updated
   * with the decisions of this process. Where each list is a request, a burst of new placements would otherwise read
   * hundreds of long lists; the price is a slightly uneven distribution there.
   * @default 0
   */
  loadMaxAgeSeconds?: number | undefined;
  /**
   * Lists the registrations of all logical clusters that this process caches; undefined as long as some are missing.
   * @default the rule applies per logical cluster
   */
  registrationsOfProcess?: (() => readonly (readonly RegistrationInput[])[] | undefined) | undefined;
  /** @default defaultMassFailureSettings */
  massFailure?: MassFailureSettings | undefined;
  onEvictionsHeld?: PlacementWorld["onEvictionsHeld"];
  /** @default no Events */
  recordEvent?: PlacementWorld["recordEvent"];
  /** @default workloads are not notified */
  workloads?: SelectedWorkloads | undefined;
}>;

/** A list of this length takes about 5 MB and a fifth of a second, which each batch of new placements can afford. */
export const maxPlacementsCountedEachTime = 1000;

/** How long the mass failures of the process are reused: ten thousand clusters take a few milliseconds. */
const massFailureMaxAgeMs = 5_000;

/** Creates the world of the placement reconciler over a hub. */
export function createPlacementWorld({
  hub,
  clock,
  loadMaxAgeSeconds = 0,
  registrationsOfProcess,
  massFailure = defaultMassFailureSettings,
  onEvictionsHeld,
  recordEvent,
  workloads,
}: PlacementWorldOptions): PlacementWorld {
  const loads = new Map<string, { readonly load: ClusterLoad; countedMs: number }>();
  const readLoad = async (logicalCluster: string, signal: AbortSignal): Promise<ClusterLoad> => {
    const known = loads.get(logicalCluster);
    const isLarge = known !== undefined && known.load.size > maxPlacementsCountedEachTime;
    if (isLarge && clock.monotonicMs() - known.countedMs < loadMaxAgeSeconds * 1000) return known.load;
    const placements = await hub.list<WorkloadPlacement>("WorkloadPlacement", logicalCluster, signal);
    // Read the map again: another reconcile may have created the entry during the list.
    const entry = loads.get(logicalCluster) ?? { load: new ClusterLoad(), countedMs: 0 };
    loads.set(logicalCluster, entry);
    entry.load.update(placements);
    entry.countedMs = clock.monotonicMs();
    return entry.load;
  };
  let known: { failures: readonly MassFailure[]; atMs: number } | undefined;
  const massFailuresOfProcess = (nowMs: number): ObservedPlacement["massFailuresOfProcess"] => {
    if (registrationsOfProcess === undefined) return undefined;
    if (known === undefined || Math.abs(nowMs - known.atMs) >= massFailureMaxAgeMs) {
      const tenants = registrationsOfProcess();
      if (tenants === undefined) return "unknown";
      known = { failures: massFailuresOfTenants(tenants.map(cachedFactsOfList), nowMs, massFailure), atMs: nowMs };
    }
    return known.failures;
  };
  return {
    workloads,
    onEvictionsHeld,
    recordEvent,
    async observe(key, signal) {
      const placement = await hub.read<WorkloadPlacement>(key, signal);
      if (placement === undefined) return undefined;
      const listed = cachedFactsOfList(
        await hub.list<RegistrationObject>("ClusterRegistration", key.logicalCluster, signal),
      );
      const unlisted = await confirmUnlisted(hub, { key, placement, listed }, signal);
      const clusters = unlisted.length === 0 ? listed : [...listed, ...unlisted];
      const nowMs = clock.now();
      return { placement, clusters, massFailuresOfProcess: massFailuresOfProcess(nowMs), massFailure, nowMs };
    },
    async decideWithLoad(key, observed, decide, signal) {
      const load = await readLoad(key.logicalCluster, signal);
      // No await from here on: the next decision must see this reservation.
      const plan = decide({ load: load.excluding(key.name), reserved: load.reservedExcluding(key.name) });
      load.reserve(observed, plan.status.selectedClusters ?? []);
      return plan;
    },
    async writeStatus(key, observed, status, signal) {
      return hub.writeStatus(key, observed, status, signal);
    },
  };
}

type RegistrationObject = KubeObject & RegistrationInput;

/**
 * Reads the selected clusters that the list lacks from the server. An incomplete list must not evict a placement from a
 * cluster that is still registered.
 */
async function confirmUnlisted(
  hub: Hub,
  {
    key,
    placement,
    listed,
  }: Readonly<{ key: ObjectKey; placement: WorkloadPlacement; listed: readonly ClusterFacts[] }>,
  signal: AbortSignal,
): Promise<readonly ClusterFacts[]> {
  const { selectedClusters = [] } = placement.status ?? {};
  if (selectedClusters.length === 0) return [];
  const known = new Set(listed.map(({ name }) => name));
  const found = await Promise.all(
    selectedClusters
      .filter((name) => !known.has(name))
      .map((name) => hub.confirm<RegistrationObject>({ ...key, kind: "ClusterRegistration", name }, signal)),
  );
  return found.filter((registration) => registration !== undefined).map(cachedClusterFacts);
}

// Objects from the hub are never modified in place, so their facts stay valid as long as the object lives.
const factsByRegistration = new WeakMap<object, ClusterFacts>();

/** A cached list is the same array until something in it changes, so its facts are cached by the array too. */
const factsByList = new WeakMap<readonly RegistrationInput[], readonly ClusterFacts[]>();

function cachedFactsOfList(registrations: readonly RegistrationInput[]): readonly ClusterFacts[] {
  const known = factsByList.get(registrations);
  if (known !== undefined) return known;
  const facts = registrations.map(cachedClusterFacts);
  factsByList.set(registrations, facts);
  return facts;
}

/** The facts of a registration, computed once per object. */
export function cachedClusterFacts(registration: RegistrationInput): ClusterFacts {
  const known = factsByRegistration.get(registration);
  if (known !== undefined) return known;
  const facts = clusterFacts(registration);
  factsByRegistration.set(registration, facts);
  return facts;
}
