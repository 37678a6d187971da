import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { isTransientFault } from "@tmc/kube/fault.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import type { WorkloadAddress, WorkloadKey } from "../model/key.ts";
import { registrationKey } from "../sync/observed.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import type { Workload } from "../sync/sync-objects.ts";
import type { Candidate, UpstreamState, UpsyncFacts, UpsyncState } from "./decide.ts";
import type { OptedInRegistration } from "./inventory.ts";
import { hashOfNormalized, normalizeUpstream } from "./normalize.ts";
import { isOptedIn, isReady, mayBeOptedIn, type OptIn, optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** A workload key with its address and type. Upstream and clusters may have an object under it. */
export type WorkloadRef = Readonly<{ key: WorkloadKey; address: WorkloadAddress; type: WorkloadType }>;

/** What one reconcile of a workload key has read. */
export type UpsyncObserved = Readonly<{
  ref: WorkloadRef;
  upstream: Workload | undefined;
  facts: UpsyncFacts;
  /** Name → registration, of those that opt in to the type. */
  optedIn: ReadonlyMap<string, OptedInRegistration>;
  /** Whether a cluster that is Ready could not be read for a transient reason. */
  isIncomplete: boolean;
}>;

/**
 * Reads what upstream and clusters have under a key; undefined when no registration opts in to it or no cluster has it.
 *
 * The cluster of the origin is always read, if it does not have the object in its cache. Other clusters report their objects
 * through watches; where there are no watches, every cluster that opts in to the namespace is read.
 */
export async function observe(
  tools: UpsyncTools,
  ref: WorkloadRef,
  registrations: readonly ClusterRegistration[],
  signal: AbortSignal,
): Promise<UpsyncObserved | undefined> {
  const { key, address, type } = ref;
  const optedIn = optedInToType(tools, ref, registrations);
  if (optedIn.size === 0) return undefined;
  const cachedStates = [...optedIn].map(([registration, subject]) => ({
    registration,
    cached: tools.source.cached({ registration: subject.key, object: address }),
  }));
  const upstream = await tools.workloads.read(key, signal);
  const upstreamState = upstream && upstreamStateOf(upstream, ref);
  const { namespace } = address;
  const candidateOf = async ({
    registration,
    cached,
  }: (typeof cachedStates)[number]): Promise<Candidate | undefined> => {
    const subject = optedIn.get(registration);
    const optIn = subject?.optIns.find((each) => each.type === type);
    if (subject === undefined || optIn === undefined) return undefined;
    if (cached?.kind === "present") return { registration, state: cached };
    if (registration === upstreamState?.origin?.registration) {
      const isCovered = isOptedIn(optIn.rules, { namespace, labels: upstream?.metadata.labels });
      // A watch would have reported an original that is opted in. Without one, a user may only have changed a label upstream.
      if (!isCovered && tools.source.isWatching) return undefined;
      const state = await readState(tools, ref, { subject, optIn }, signal);
      return isCovered || state.kind === "present" ? { registration, state } : undefined;
    }
    if (tools.source.isWatching || !mayBeOptedIn(optIn.rules, namespace)) return undefined;
    const state = await readState(tools, ref, { subject, optIn }, signal);
    // An unreadable cluster matters only while the name is free: a further conflict can be found later.
    const isRelevant = state.kind === "present" || (state.kind === "unknown" && upstream === undefined);
    return isRelevant ? { registration, state } : undefined;
  };
  const candidates = (await allSettledOrThrow(cachedStates.map(candidateOf))).filter(
    (candidate) => candidate !== undefined,
  );
  if (candidates.length === 0) return undefined;
  const labels =
    upstream === undefined ? await tools.workloads.namespaceLabels(key.logicalCluster, namespace, signal) : {};
  return {
    ref,
    upstream,
    optedIn,
    isIncomplete: candidates.some(({ registration, state }) => {
      const subject = optedIn.get(registration);
      return state.kind === "unknown" && state.isTransient && subject !== undefined && isReady(subject.registration);
    }),
    facts: {
      upstream: upstreamState,
      candidates,
      hasNamespace: labels !== undefined,
      acceptedDifference: tools.localState.acceptedDifference(key),
    },
  };
}

function optedInToType(
  { workloads }: UpsyncTools,
  { key, type }: WorkloadRef,
  registrations: readonly ClusterRegistration[],
): ReadonlyMap<string, OptedInRegistration> {
  const optedIn = new Map<string, OptedInRegistration>();
  for (const registration of registrations) {
    if (registration.spec.upsync === undefined) continue;
    const { optIns } = optInsOf(registration, workloads.types);
    if (!optIns.some((each) => each.type === type)) continue;
    const { name = "" } = registration.metadata;
    optedIn.set(name, { key: registrationKey(key.logicalCluster, name), registration, optIns });
  }
  return optedIn;
}

function upstreamStateOf(object: Workload, { key, type }: WorkloadRef): UpstreamState {
  const { apiVersion, kind } = type;
  const { metadata } = object;
  return {
    uid: metadata.uid ?? "",
    isDeleting: metadata.deletionTimestamp !== undefined,
    hash: hashOfNormalized(normalizeUpstream({ ...object, apiVersion, kind })),
    origin: upsyncOriginOf({ apiVersion, kind, metadata }, key.logicalCluster),
  };
}

/** Reads the object from the cluster, without the cache; `unknown` when the cluster is not Ready or does not answer. */
async function readState(
  { source }: UpsyncTools,
  { address }: WorkloadRef,
  { subject, optIn }: Readonly<{ subject: OptedInRegistration; optIn: OptIn }>,
  signal: AbortSignal,
): Promise<UpsyncState> {
  if (!isReady(subject.registration)) {
    return { kind: "unknown", message: "the cluster is not Ready", isTransient: true };
  }
  try {
    return await source.readUncached({ registration: subject.key, object: address }, optIn, signal);
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    const message = oneLine(error instanceof Error ? error.message : "the cluster cannot be read");
    return { kind: "unknown", message, isTransient: isTransientFault(fault) };
  }
}
