import type { Failed, NoWayIn } from "./probe-outcome.ts";

/** Every reason that a cluster's condition Ready can have, and what it means. */
export const clusterReasons: Readonly<Record<NoWayIn["reason"] | Failed["reason"] | "ClusterReady", string>> = {
  ClusterReady: "The cluster answers and says that it is ready.",
  ClusterNotConfigured: "There are no credentials for it; the message says where they were looked for.",
  PermissionClaimNotAccepted:
    "Its credentials are in a secret that TMC may not read: the workspace's APIBinding does not accept the claim on secrets. " +
    "It heals by itself once the claim is accepted.",
  CredentialsInvalid: "Its credentials cannot be used; the message says what is wrong with them.",
  CredentialsExpired: "Its credentials have ended.",
  CredentialsRejected: "The cluster does not accept its credentials.",
  AccessDenied: "The cluster knows who we are and does not let us ask how it is.",
  EndpointNotAllowed: "Its server is at an address that tenants may not name.",
  ClusterUnhealthy: "It does not answer, or says that it is not ready.",
};
