import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import type { ResourceType } from "@tmc/kube/kube-object.ts";
import { userAnnotations } from "../api/annotations.ts";
import { type ClusterRegistration, maxClusterUidLength } from "../api/cluster-registration.ts";
import type { Condition, DecidedCondition } from "../model/condition.ts";
import type { ClusterIdentity, ProbeOutcome } from "./probe-outcome.ts";

/** The annotation of a registration by which a user accepts the cluster with this uid, and no other, as the registered one. */
export const acceptIdentityAnnotation = userAnnotations.acceptIdentity.name;
/** The value of the annotation that accepts a cluster whose uid TMC may not read. */
export const unknownIdentity = "unknown";

const namespaceType: ResourceType = { group: "", version: "v1", plural: "namespaces" };
/** Every Kubernetes cluster has this namespace from its start and cannot delete it, so its uid identifies the cluster. */
const identityNamespace = "kube-system";

/**
 * Asks a cluster for its identity, with one request. Missing permissions are a result; any other failure throws. 403 and 404
 * are what a server answers to credentials without access to the namespace, or if it has no such namespace.
 */
export async function readIdentity(
  client: Pick<KubeClient, "metadata">,
  options: Readonly<{ signal: AbortSignal; timeoutMs?: number | undefined }>,
): Promise<ClusterIdentity> {
  try {
    const { metadata } = await client.metadata.get({ type: namespaceType, name: identityNamespace }, options);
    const uid = uidIn(metadata);
    return uid === undefined
      ? { kind: "unreadable", message: `the namespace ${identityNamespace} has no valid uid` }
      : { kind: "known", uid };
  } catch (error) {
    const status = error instanceof ApiError ? error.status : undefined;
    if (status !== 403 && status !== 404) throw error;
    const cause = status === 403 ? "the credentials may not read" : "the server does not have";
    return { kind: "unreadable", message: `${cause} the namespace ${identityNamespace}` };
  }
}

/** The uid of an answer that any server may have sent; it is shown to users and stored. */
function uidIn(metadata: unknown): string | undefined {
  if (typeof metadata !== "object" || metadata === null || !("uid" in metadata)) return undefined;
  const { uid } = metadata;
  const isValid = typeof uid === "string" && uid.length <= maxClusterUidLength && /^[\w.:-]+$/.test(uid);
  return isValid ? uid : undefined;
}

/** What a registration says about its cluster's identity. */
type IdentifiedRegistration = Pick<ClusterRegistration, "metadata" | "status">;

/**
 * Decides whether the cluster that answered a probe is the registered one, and which identity the status should have. The
 * first identity that TMC reads is the registered one. A registration whose cluster never let TMC read its identity works
 * without; one that did and no longer does has failed its probe, as if the cluster had not answered.
 */
export function decideIdentity(
  { metadata, status }: IdentifiedRegistration,
  outcome: ProbeOutcome,
): Readonly<{ outcome: ProbeOutcome; clusterUID?: string; observedClusterUID?: string }> {
  const { clusterUID, observedClusterUID } = status ?? {};
  const { name = "" } = metadata;
  const stored = clusterUID === undefined ? {} : { clusterUID };
  if (outcome.kind !== "healthy") {
    // No cluster has answered, so the last observed identity remains true.
    return { outcome, ...stored, ...(observedClusterUID !== undefined && { observedClusterUID }) };
  }
  const { identity, credentialsExpireMs } = outcome;
  const accepted = metadata.annotations?.[acceptIdentityAnnotation];
  const remedy = `if this is intended, run "tmc cluster accept-identity ${name}"`;
  if (identity.kind === "unreadable") {
    if (clusterUID === undefined || accepted === unknownIdentity) return { outcome };
    const message = `${identity.message}, so it is unknown whether this is cluster ${clusterUID}; ${remedy}`;
    return { outcome: { kind: "failed", reason: "ClusterIdentityUnknown", message, credentialsExpireMs }, ...stored };
  }
  const { uid } = identity;
  if (clusterUID === undefined || uid === clusterUID || uid === accepted) return { outcome, clusterUID: uid };
  const message = `another cluster answers: its uid is ${uid}, and the registered cluster has uid ${clusterUID}; ${remedy}`;
  return {
    outcome: { kind: "not-configured", reason: "ClusterIdentityChanged", message, credentialsExpireMs },
    clusterUID,
    observedClusterUID: uid,
  };
}

/** Whether a user has accepted the cluster that answers, and the status does not say so yet: the next probe decides it. */
export function isAcceptancePending({ metadata, status }: IdentifiedRegistration): boolean {
  const accepted = metadata.annotations?.[acceptIdentityAnnotation];
  return accepted !== undefined && accepted === status?.observedClusterUID;
}

/** The names of the other registrations that lead to the same cluster, sorted. */
export function registrationsOfSameCluster(
  { name, clusterUID }: Readonly<{ name: string; clusterUID: string | undefined }>,
  registrations: readonly IdentifiedRegistration[],
): readonly string[] {
  if (clusterUID === undefined) return [];
  return registrations
    .filter(({ metadata, status }) => metadata.name !== name && status?.clusterUID === clusterUID)
    .map(({ metadata }) => metadata.name ?? "")
    .toSorted();
}

/** The most names that the condition lists. */
const maxListed = 5;

/** Decides the condition ClusterIdentityUnique; undefined if the registration needs none: no other one has ever shared its cluster. */
export function uniqueCondition(before: readonly Condition[], others: readonly string[]): DecidedCondition | undefined {
  const type = "ClusterIdentityUnique";
  if (others.length > 0) {
    const rest = others.length > maxListed ? ` and ${others.length - maxListed} more` : "";
    const message = `the same cluster is also registered as ${others.slice(0, maxListed).join(", ")}${rest}`;
    return { type, status: "False", severity: "Info", reason: "ClusterShared", message };
  }
  if (!before.some((each) => each.type === type)) return undefined;
  return { type, status: "True", reason: "ClusterNotShared", message: "" };
}
