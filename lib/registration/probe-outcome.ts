import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ReservedResources } from "../model/reserved-resources.ts";

/** Which cluster answered: the uid of its namespace kube-system, or why it cannot be read. */
export type ClusterIdentity =
  | Readonly<{ kind: "known"; uid: string }>
  | Readonly<{ kind: "unreadable"; message: string }>;

export type RegistrationStatus = NonNullable<ClusterRegistration["status"]>;

type CredentialExpiry = Readonly<{
  /** When the credentials expire, in milliseconds since the epoch; undefined if they do not say. */
  credentialsExpireMs?: number | undefined;
  /** When they should be renewed, some time before that. */
  credentialsRenewMs?: number | undefined;
}>;

/** The configuration of the cluster is missing or invalid, or leads to another cluster than before. */
export type NotConfigured = CredentialExpiry &
  Readonly<{
    kind: "not-configured";
    reason:
      | "ClusterNotConfigured"
      | "CredentialsInvalid"
      | "CredentialsExpired"
      | "EndpointNotAllowed"
      | "PermissionClaimNotAccepted"
      | "ClusterIdentityChanged";
    message: string;
  }>;

/** The probe failed: the cluster is unreachable or unhealthy, or it rejected the credentials. */
export type Failed = CredentialExpiry &
  Readonly<{
    kind: "failed";
    reason:
      | "ClusterUnhealthy"
      | "CredentialsRejected"
      | "AccessDenied"
      | "EndpointNotAllowed"
      | "ClusterIdentityUnknown";
    message: string;
  }>;

/** The probe succeeded. */
export type Healthy = CredentialExpiry &
  Readonly<{
    kind: "healthy";
    /** Which cluster answered. */
    identity: ClusterIdentity;
    /** Set only if this probe also ran the detection. */
    detected?: Detected | undefined;
  }>;

/** The outcome of probing a cluster. */
export type ProbeOutcome = NotConfigured | Failed | Healthy;

export type ServedApi = Readonly<{ groupVersion: string; kinds: readonly string[] }>;
export type ResourceTotals = Readonly<{
  cpu: string;
  memory: string;
  pods: string;
  /** Unset if no node reports it. */
  storage?: string;
  gpu?: string;
}>;
export type NodeFacts = Readonly<{
  nodes: Readonly<{ ready: number; total: number }>;
  capacity: ResourceTotals;
  allocatable: ResourceTotals;
  /** Whether a schedulable node offers GPUs to pods. */
  gpu: boolean;
}>;

/** What the running pods that TMC did not place request, or why that is not known. */
export type OtherPods =
  | Readonly<{ kind: "known"; requests: ReservedResources }>
  | Readonly<{ kind: "unknown"; reason: "Forbidden" | "TooMany" }>;

/**
 * Detected facts of a cluster. A part that could not be read this time is undefined, and the status keeps its old value.
 * A part that TMC may not read is "forbidden", and the status has no value for it.
 */
export type Detected = Readonly<{
  version: string | undefined;
  apis: readonly ServedApi[] | undefined;
  nodes: NodeFacts | "forbidden" | undefined;
  otherPods?: OtherPods | undefined;
  /** Whether the cluster has a storage class. */
  storage: boolean | undefined;
}>;
