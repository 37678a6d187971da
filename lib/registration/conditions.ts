import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type Condition, type DecidedCondition, findCondition } from "../model/condition.ts";
import type { ProbeOutcome } from "./probe-outcome.ts";

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
