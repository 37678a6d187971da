import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { findCondition } from "../model/condition.ts";
import type { Texts } from "../model/json.ts";
import { isReservedNamespace } from "../sync/ownership/namespace-map.ts";
import type { UpsyncReason } from "./reasons.ts";

/** What a registration says of one type. */
export type UpsyncRule = NonNullable<ClusterRegistration["spec"]["upsync"]>[number];

/** A type of which objects may be born on a cluster, and what they have to be like: as any of the rules says. */
export type OptIn = Readonly<{ type: WorkloadType; rules: readonly UpsyncRule[] }>;

/** Why something that a registration asks for is not done. */
export type Problem = Readonly<{ reason: UpsyncReason; message: string }>;

/** What a registration asks for, as far as it can be. */
export type OptIns = Readonly<{ optIns: readonly OptIn[]; problems: readonly Problem[] }>;

/**
 * Finds the types that a registration opts in to. TMC may write only types that it offers itself; a type that the cluster
 * does not serve is not asked for either. One that is being deleted opts in to nothing.
 */
export function optInsOf({ metadata, spec, status }: ClusterRegistration, types: readonly WorkloadType[]): OptIns {
  if (metadata.deletionTimestamp !== undefined) return { optIns: [], problems: [] };
  const byType = new Map<WorkloadType, UpsyncRule[]>();
  const problems = new Map<string, Problem>();
  for (const rule of spec.upsync ?? []) {
    const { apiVersion, kind } = rule;
    const name = `${apiVersion} ${kind}`;
    const type = types.find((each) => each.apiVersion === apiVersion && each.kind === kind);
    const served = status?.apis?.find(({ groupVersion }) => groupVersion === apiVersion);
    if (type === undefined || !type.isOffered) {
      const words = type === undefined ? "TMC does not offer it" : "TMC may only read it in a workspace";
      problems.set(name, { reason: "TypeNotOffered", message: `${name}: ${words}` });
    } else if (status?.apis !== undefined && served?.kinds?.includes(kind) !== true) {
      problems.set(name, { reason: "TypeNotServed", message: `${name}: the cluster does not serve it` });
    } else {
      byType.set(type, [...(byType.get(type) ?? []), rule]);
    }
  }
  return { optIns: [...byType].map(([type, rules]) => ({ type, rules })), problems: [...problems.values()] };
}

/** Tells whether any of the rules is about an object. A part that a rule leaves out names all; an empty list names none. */
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

/** Tells whether anything in a namespace can be meant by any of the rules, whatever its labels are. */
export function mayBeOptedIn(rules: readonly UpsyncRule[], namespace: string): boolean {
  return (
    !isReservedNamespace(namespace) &&
    rules.some(({ namespaces }) => namespaces === undefined || namespaces.includes(namespace))
  );
}

/** Whether a cluster is heard from. */
export function isReady({ status }: Pick<ClusterRegistration, "status">): boolean {
  return findCondition(status?.conditions, "Ready")?.status === "True";
}
