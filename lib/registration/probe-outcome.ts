import type { ClusterRegistration } from "../api/cluster-registration.ts";

/** What is written about a cluster. */
export type RegistrationStatus = NonNullable<ClusterRegistration["status"]>;

type Expiring = Readonly<{
  /** When the credentials end, where they say so; milliseconds since the epoch. */
  credentialsExpireMs?: number | undefined;
}>;

/** Nobody can try the cluster, and why: what is configured is missing or wrong. */
export type NoWayIn = Expiring &
  Readonly<{
    kind: "not-configured";
    reason:
      | "ClusterNotConfigured"
      | "CredentialsInvalid"
      | "CredentialsExpired"
      | "EndpointNotAllowed"
      | "PermissionClaimNotAccepted";
    message: string;
  }>;

/** The cluster was tried and is not well, or does not let us in. */
export type Failed = Expiring &
  Readonly<{
    kind: "failed";
    reason: "ClusterUnhealthy" | "CredentialsRejected" | "AccessDenied" | "EndpointNotAllowed";
    message: string;
  }>;

/** The cluster answered well. */
export type Healthy = Expiring &
  Readonly<{
    kind: "healthy";
    /** What it was found to be; only now and then it is looked at. */
    detected?: Detected | undefined;
  }>;

/** What a look at a cluster has shown. */
export type Look = NoWayIn | Failed | Healthy;

export type ServedApi = Readonly<{ groupVersion: string; kinds: readonly string[] }>;
export type Amounts = Readonly<{
  cpu: string;
  memory: string;
  pods: string;
  /** Left out when no node says anything of it. */
  storage?: string;
  gpu?: string;
}>;
export type NodeFacts = Readonly<{
  nodes: Readonly<{ ready: number; total: number }>;
  capacity: Amounts;
  allocatable: Amounts;
  /** Whether a node has graphics processors for pods. */
  gpu: boolean;
}>;

/**
 * What a cluster was found to be. A part that could not be found out this time is undefined, and what was known of it
 * before stays; a part that we may not see is "refused", and nothing is said of it.
 */
export type Detected = Readonly<{
  version: string | undefined;
  apis: readonly ServedApi[] | undefined;
  nodes: NodeFacts | "refused" | undefined;
  /** Whether a volume can be had. */
  storage: boolean | undefined;
}>;
