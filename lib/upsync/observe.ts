import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { mayPass } from "@tmc/kube/fault.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { allSettledOrThrow } from "../model/concurrency.ts";
import type { WorkloadAddress, WorkloadKey } from "../model/key.ts";
import { registrationKey } from "../sync/observed.ts";
import { upsyncOriginOf } from "../sync/ownership/upsync-origin.ts";
import type { Workload } from "../sync/sync-objects.ts";
import type { Claim, Facts, Upstream, UpsyncState } from "./decide.ts";
import type { Subject } from "./inventory.ts";
import { hashOfNormalized, normalizeUpstream } from "./normalize.ts";
import { isOptedIn, isReady, mayBeOptedIn, type OptIn, optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** The name of a workload, which clusters may have objects under. */
export type Name = Readonly<{ key: WorkloadKey; address: WorkloadAddress; type: WorkloadType }>;

/** All that one look at a name is about. */
export type Observed = Readonly<{
  name: Name;
  upstream: Workload | undefined;
  facts: Facts;
  /** The registrations that opt in to the type, by name. */
  subjects: ReadonlyMap<string, Subject>;
  /** Whether a cluster that counts as ready could not be asked. */
  isUnheard: boolean;
}>;

/**
 * Gathers what is known of a name; undefined when no cluster has ever had to do with it.
 *
 * The word of a cluster that has the original counts, and is asked for. Whatever else was born is told where clusters are
 * watched; where they are not, every one that opts in to such a name is asked, and no other.
 */
export async function observe(
  tools: UpsyncTools,
  name: Name,
  registrations: readonly ClusterRegistration[],
  signal: AbortSignal,
): Promise<Observed | undefined> {
  const { key, address, type } = name;
  const { namespace } = address;
  const subjects = new Map<string, Subject>();
  for (const registration of registrations) {
    if (registration.spec.upsync === undefined) continue;
    const { optIns } = optInsOf(registration, tools.workloads.types);
    if (!optIns.some((each) => each.type === type)) continue;
    const own = registration.metadata.name ?? "";
    subjects.set(own, { key: registrationKey(key.logicalCluster, own), registration, optIns });
  }
  if (subjects.size === 0) return undefined;
  const known = [...subjects].map(([registration, { key: cluster }]) => ({
    registration,
    birth: tools.source.cached({ registration: cluster, object: address }),
  }));
  const upstream = await tools.workloads.read(key, signal);
  const seen = upstream && upstreamOf(upstream, name);
  const home = seen?.birthplace?.registration;
  const claimOf = async ({ registration, birth }: (typeof known)[number]): Promise<Claim | undefined> => {
    const subject = subjects.get(registration);
    const optIn = subject?.optIns.find((each) => each.type === type);
    if (subject === undefined || optIn === undefined) return undefined;
    if (birth?.kind === "born") return { registration, birth };
    if (registration === home) {
      const isMeant = isOptedIn(optIn.rules, { namespace, labels: upstream?.metadata.labels });
      return isMeant ? { registration, birth: await ask(tools, name, { subject, optIn }, signal) } : undefined;
    }
    if (tools.source.isWatching || !mayBeOptedIn(optIn.rules, namespace)) return undefined;
    const answer = await ask(tools, name, { subject, optIn }, signal);
    // Whether a name that is taken is wanted by one more can wait; what may be born and is nowhere else cannot.
    const isNews = answer.kind === "born" || (answer.kind === "unknown" && upstream === undefined);
    return isNews ? { registration, birth: answer } : undefined;
  };
  const claims = (await allSettledOrThrow(known.map(claimOf))).filter((claim) => claim !== undefined);
  if (claims.length === 0) return undefined;
  const labels =
    upstream === undefined ? await tools.workloads.namespaceLabels(key.logicalCluster, namespace, signal) : {};
  return {
    name,
    upstream,
    subjects,
    isUnheard: claims.some(({ registration, birth }) => {
      const subject = subjects.get(registration);
      return birth.kind === "unknown" && birth.mayPass && subject !== undefined && isReady(subject.registration);
    }),
    facts: { upstream: seen, claims, hasNamespace: labels !== undefined, agreed: tools.deletionLog.agreed(key) },
  };
}

function upstreamOf(object: Workload, { key, type }: Name): Upstream {
  const { apiVersion, kind } = type;
  const { metadata } = object;
  return {
    uid: metadata.uid ?? "",
    isDeleting: metadata.deletionTimestamp !== undefined,
    print: hashOfNormalized(normalizeUpstream({ ...object, apiVersion, kind })),
    birthplace: upsyncOriginOf({ apiVersion, kind, metadata }, key.logicalCluster),
  };
}

/** Asks the cluster itself; one that cannot be asked says nothing. */
async function ask(
  { source }: UpsyncTools,
  { address }: Name,
  { subject, optIn }: Readonly<{ subject: Subject; optIn: OptIn }>,
  signal: AbortSignal,
): Promise<UpsyncState> {
  if (!isReady(subject.registration)) return { kind: "unknown", why: "the cluster is not heard from", mayPass: true };
  try {
    return await source.readUncached({ registration: subject.key, object: address }, optIn, signal);
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    const why = oneLine(error instanceof Error ? error.message : "it cannot be asked");
    return { kind: "unknown", why, mayPass: mayPass(fault) };
  }
}
