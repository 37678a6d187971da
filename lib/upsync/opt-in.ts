import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { findCondition } from "../model/condition.ts";
import type { Texts } from "../model/json.ts";
import { isReservedNamespace } from "../sync/ownership/namespace-map.ts";
import type { UpsyncReason } from "./conditions.ts";

/** One entry of `spec.upsync`. */
export type UpsyncRule = NonNullable<ClusterRegistration["spec"]["upsync"]>[number];

/** A type that a registration opts in to. An object is covered if it matches any of the rules. */
export type OptIn = Readonly<{ type: WorkloadType; rules: readonly UpsyncRule[] }>;

/** Why a type in `spec.upsync` is not upsynced. */
export type OptInBlocker = Readonly<{ reason: UpsyncReason; message: string }>;

export type OptIns = Readonly<{ optIns: readonly OptIn[]; blockers: readonly OptInBlocker[] }>;

/**
 * Finds the types that a registration opts in to. TMC can write only types that its export offers. A type that the cluster
 * does not serve is not watched or listed. A registration that is being deleted opts in to nothing.
 */
export function optInsOf({ metadata, spec, status }: ClusterRegistration, types: readonly WorkloadType[]): OptIns {
  if (metadata.deletionTimestamp !== undefined) return { optIns: [], blockers: [] };
  const byType = new Map<WorkloadType, UpsyncRule[]>();
  const blockers = new Map<string, OptInBlocker>();
  for (const rule of spec.upsync ?? []) {
    const { apiVersion, kind } = rule;
    const name = `${apiVersion} ${kind}`;
    const type = types.find((each) => each.apiVersion === apiVersion && each.kind === kind);
    const served = status?.apis?.find(({ groupVersion }) => groupVersion === apiVersion);
    if (type === undefined || !type.isOffered) {
      const cause = type === undefined ? "TMC does not offer this type" : "TMC can only read this type in a workspace";
      blockers.set(name, { reason: "TypeNotOffered", message: `${name}: ${cause}` });
    } else if (status?.apis !== undefined && served?.kinds?.includes(kind) !== true) {
      blockers.set(name, { reason: "TypeNotServed", message: `${name}: the cluster does not serve this type` });
    } else {
      byType.set(type, [...(byType.get(type) ?? []), rule]);
    }
  }
  return { optIns: [...byType].map(([type, rules]) => ({ type, rules })), blockers: [...blockers.values()] };
}

/** Whether an object matches any of the rules. An omitted criterion matches everything; an empty list matches nothing. */
export function isOptedIn(
  rules: readonly UpsyncRule[],
  { namespace, labels }: Readonly<{ namespace: string; labels: Texts | undefined }>,
): boolean {
  return rules.some(
    ({ namespaces, matchLabels = {} }) =>
      (namespaces === undefined || namespaces.includes(namespace)) &&
      Object.entries(matchLabels).every(([name, value]) => labels?.[name] === value),
  );
}

/** Whether objects in a namespace can match any of the rules, depending on their labels. */
export function mayBeOptedIn(rules: readonly UpsyncRule[], namespace: string): boolean {
  return (
    !isReservedNamespace(namespace) &&
    rules.some(({ namespaces }) => namespaces === undefined || namespaces.includes(namespace))
  );
}

/** Whether the Ready condition of a registration is True. */
export function isReady({ status }: Pick<ClusterRegistration, "status">): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}
