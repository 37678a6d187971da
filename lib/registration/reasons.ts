import type { Failed, NotConfigured } from "./probe-outcome.ts";

/** The reasons of further conditions of a ClusterRegistration, by condition. Each exists only after it has been False once. */
export const clusterWarnings = {
  CredentialsCurrent: {
    CredentialsExpiring:
      "The credentials still work and expire soon: at most 15 % of their lifetime is left, or 14 days. The message says how to renew " +
      "them. TMC cannot do it: it may not write the Secrets of a workspace.",
    CredentialsRenewed: "The credentials are valid for longer again.",
  },
  ObjectsWatched: {
    WatchLimitExceeded:
      "The cluster has more objects to watch than TMC keeps of a cluster that a tenant names. TMC keeps none of them for ten minutes, " +
      "reads each object when it needs it, and then tries again. Other registrations are not affected.",
    WithinWatchLimits: "TMC watches all objects of the cluster that it should.",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, string>>>>;

/** The reasons of a ClusterRegistration's Ready condition and their meaning. */
export const clusterReasons: Readonly<Record<NotConfigured["reason"] | Failed["reason"] | "ClusterReady", string>> = {
  ClusterReady: "The cluster responds and reports that it is ready.",
  ClusterNotConfigured: "No credentials were found for the cluster; the message says where TMC searched.",
  PermissionClaimNotAccepted:
    "The credentials are in a Secret that TMC may not read, because the APIBinding of the workspace does not accept the " +
    "permission claim on secrets. The cluster becomes Ready after the claim is accepted.",
  CredentialsInvalid: "The credentials cannot be used; the message says why.",
  CredentialsExpired: "The credentials have expired.",
  CredentialsRejected: "The cluster rejects the credentials.",
  AccessDenied: "The cluster accepts the credentials, but does not allow them to read its health endpoints.",
  EndpointNotAllowed: "The server address is not allowed for tenants.",
  ClusterIdentityChanged:
    "Another cluster answers than the one in `status.clusterUID`: the kubeconfig leads elsewhere, or the cluster was rebuilt. " +
    "TMC writes nothing to it and deletes nothing because of it, until a user runs `tmc cluster accept-identity`.",
  ClusterIdentityUnknown:
    "The credentials may not read the namespace kube-system any more, so TMC cannot confirm that the cluster is the one in " +
    "`status.clusterUID`. Grant `get` on that namespace, or accept the cluster with `tmc cluster accept-identity`.",
  ClusterUnhealthy: "The cluster does not respond, or reports that it is not ready.",
};
