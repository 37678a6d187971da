import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey } from "../model/key.ts";
import { type ClusterFacts, clusterFacts } from "../placement/observed.ts";
import type { SourceKind } from "./source-kinds.ts";
import { accessFields, type ReadContext, sourceOriginOf, templatedSecret } from "./view.ts";

/** Identifies the object that describes a cluster. */
export type SourceOrigin = Readonly<{
  /** Empty if the upstream is a plain Kubernetes cluster. */
  logicalCluster: string;
  source: SourceKind;
  /** Empty for a cluster-scoped object. */
  namespace: string;
  name: string;
  uid: string;
  /** Creation time in milliseconds since the epoch; 0 if unknown. */
  createdMs: number;
}>;

/** Why a cluster cannot be accessed yet. The reasons are those of kplane where it defines one. */
export type PendingReason =
  | "ControlPlaneRefMissing"
  | "ControlPlaneNotFound"
  | "EndpointPending"
  | "KubeconfigPending"
  | "EndpointInvalid"
  | "ServiceUnknown";
export type Pending = Readonly<{ reason: PendingReason; message: string }>;

/** Services for which a ControlPlaneRegistration can register a control plane. */
export const controlPlaneServices = ["Controllers", "Scheduler", "Workloads"] as const;
export type ControlPlaneService = (typeof controlPlaneServices)[number];

/** One source object, read as a cluster. */
export type ClusterView = Readonly<{
  origin: SourceOrigin;
  /** The equivalent ClusterRegistration, in memory only; for the source `clusterregistration` the object itself. */
  registration: ClusterRegistration;
  /** URL of the API server; undefined if the object does not lead to one. */
  endpoint?: string | undefined;
  /** Undefined if endpoint and credentials are resolved. */
  pending?: Pending | undefined;
  /** Whether the Secret comes from the operator's template and not from the object. */
  isSecretTemplated?: boolean | undefined;
  /** Undefined for all services. */
  services?: readonly ControlPlaneService[] | undefined;
  /** When the view changes next without a change of the object, in milliseconds since the epoch. */
  changesAtMs?: number | undefined;
}>;

/** A cluster of any source. */
export type SourceCluster = ClusterView &
  Readonly<{
    /** The key that the rest of TMC uses; unique in its logical cluster. */
    key: ObjectKey;
    /** The origin as a string. */
    id: string;
    facts: ClusterFacts;
    /** Hash of everything that determines endpoint and credentials. Reveals no secret. */
    accessHash: string;
  }>;

export function toSourceCluster(reading: ClusterView): SourceCluster {
  const { origin, registration, pending } = reading;
  return {
    ...reading,
    key: { logicalCluster: origin.logicalCluster, kind: "ClusterRegistration", name: origin.name },
    id: formatSourceOrigin(origin),
    facts: withoutAccess(clusterFacts(registration), pending),
    accessHash: hashAccess(reading),
  };
}

/** Returns the cluster with the status that TMC observed in place of the status in its object. */
export function withObservedStatus(
  cluster: SourceCluster,
  status: NonNullable<ClusterRegistration["status"]>,
): SourceCluster {
  return toSourceCluster({ ...cluster, registration: { ...cluster.registration, status }, changesAtMs: undefined });
}

/** `1k2x…|synctarget/east`, or `|controlplaneendpoint/team-a/east` for a namespaced object. */
export function formatSourceOrigin({
  logicalCluster,
  source,
  namespace,
  name,
}: Omit<SourceOrigin, "uid" | "createdMs">): string {
  return `${logicalCluster}|${source}/${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/**
 * Makes a cluster that cannot be accessed not Ready, whatever its object reports. The time of the transition is left unset:
 * a briefly missing endpoint is not a long outage, so tolerations count from the time at which it is first seen.
 */
function withoutAccess(facts: ClusterFacts, pending: Pending | undefined): ClusterFacts {
  if (pending === undefined || facts.ready !== "True") return facts;
  return { ...facts, ready: "Unknown", readyReason: pending.reason };
}

function hashAccess({ origin, registration, endpoint, pending }: ClusterView): string {
  const { credentials, endpoint: specEndpoint } = registration.spec;
  return createHash("sha256")
    .update(
      JSON.stringify([formatSourceOrigin(origin), origin.uid, endpoint, specEndpoint, credentials, pending?.reason]),
    )
    .digest("hex")
    .slice(0, 16);
}

/** Reads a ClusterRegistration. Without `spec.credentials`, the operator's secret template applies if there is one. */
export function readClusterRegistration(
  registration: ClusterRegistration,
  { logicalCluster, template }: Pick<ReadContext, "logicalCluster" | "template">,
): ClusterView {
  const origin = sourceOriginOf("clusterregistration", logicalCluster, registration);
  const endpoint = registration.spec.endpoint?.server;
  if (template === undefined) return { origin, registration, endpoint };
  const secret = templatedSecret(template, origin);
  const { credentials } = registration.spec;
  if (credentials !== undefined) {
    // The index of clusters has filled in the template before, or the author chose the Secret that the operator would choose.
    return { origin, registration, endpoint, isSecretTemplated: isDeepStrictEqual(credentials.secretRef, secret) };
  }
  if ("reason" in secret) return { origin, registration, endpoint, pending: secret };
  return {
    origin,
    endpoint,
    isSecretTemplated: true,
    registration: { ...registration, spec: { ...registration.spec, ...accessFields(origin, { secret }) } },
  };
}
