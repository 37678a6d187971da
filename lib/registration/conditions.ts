import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type Condition, type DecidedCondition, findCondition } from "../model/condition.ts";
import type { Failed, NotConfigured, ProbeOutcome } from "./probe-outcome.ts";

/** Whether the watches of this process keep everything of a cluster that they should. */
export type ObservedWatches = Readonly<{
  /** Which limit the cluster exceeded; undefined if none. */
  excess: string | undefined;
}>;

/**
 * Decides the condition ObjectsWatched. A cluster that exceeds a limit is watched no longer for some minutes; TMC then reads each
 * object when it needs it. Undefined if the registration needs no condition: it has never exceeded a limit.
 */
export function watchedCondition(
  before: readonly Condition[],
  watches: ObservedWatches | undefined,
): DecidedCondition | undefined {
  const type = "ObjectsWatched";
  if (watches?.excess !== undefined) {
    const message = `${watches.excess}; TMC does not watch these objects now, and reads each of them when it needs it`;
    return { type, status: "False", severity: "Warning", reason: "WatchLimitExceeded", message };
  }
  if (watches === undefined || findCondition(before, type) === undefined) return undefined;
  return { type, status: "True", reason: "WithinWatchLimits", message: "" };
}

type CredentialsFacts = Readonly<{ registration: ClusterRegistration; outcome: ProbeOutcome; nowMs: number }>;

/**
 * Decides the condition CredentialsCurrent: False from the time at which the credentials should have been renewed, while they
 * still work. Undefined if the registration needs no condition: its credentials were never close to their end.
 */
export function credentialsCondition(
  before: readonly Condition[],
  { registration, outcome, nowMs }: CredentialsFacts,
): DecidedCondition | undefined {
  const type = "CredentialsCurrent";
  const { credentialsRenewMs } = outcome;
  if (credentialsRenewMs !== undefined && credentialsRenewMs <= nowMs) {
    const message = `the credentials expire at the time in status.credentialsExpire; ${remedyFor(registration)}`;
    return { type, status: "False", severity: "Warning", reason: "CredentialsExpiring", message };
  }
  const isKnown = credentialsRenewMs !== undefined || outcome.kind === "healthy";
  if (!isKnown || findCondition(before, type) === undefined) return undefined;
  return { type, status: "True", reason: "CredentialsRenewed", message: "" };
}

/** How the credentials of a registration are renewed. TMC may not write the Secrets of a workspace. */
function remedyFor({ metadata: { name = "" }, spec }: ClusterRegistration): string {
  const { secretRef, secretsManager } = spec.credentials ?? {};
  if (secretsManager !== undefined) return "store new ones in Secrets Manager";
  if (secretRef === undefined) return "the operator of TMC has to replace them";
  const store = `store new ones in the Secret ${secretRef.namespace}/${secretRef.name}`;
  // `tmc cluster join` names its Secret like the registration.
  if (secretRef.name !== name || secretRef.key !== undefined) return store;
  const namespace = secretRef.namespace === "default" ? "" : ` --secret-namespace ${secretRef.namespace}`;
  const command = `tmc cluster join ${name} --kubeconfig ADMIN_KUBECONFIG --location ${spec.location}${namespace}`;
  return `${store}; if "tmc cluster join" wrote it, run "${command}" again`;
}

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
