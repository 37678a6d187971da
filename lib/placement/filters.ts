import { compareQuantities, formatQuantity } from "@tmc/kube/quantity.ts";
import { type ClusterFacts, type ClusterTaint, isUnrestricted } from "./observed.ts";
import { type CapabilityRequirement, matchesTerm, type ParsedSpec, satisfies, type Term } from "./parsed-spec.ts";
import type { DecisionReason, ReasonDetail } from "./reasons.ts";
import { formatTaint, toleratedSeconds } from "./taints.ts";
import { compareVersionNumbers } from "./versions.ts";

/**
 * A rule that a cluster must satisfy. `fails` runs for every cluster of every placement, so it must be fast; `detail`
 * and `remedy` run only for decisions that are shown.
 */
export type Filter = Readonly<{
  reason: DecisionReason;
  /** Whether the spec uses this rule. Unset for rules on the cluster's own state, which no unrestricted cluster fails. */
  isRelevant?: (spec: ParsedSpec) => boolean;
  fails: (spec: ParsedSpec, cluster: ClusterFacts) => boolean;
  detail: (spec: ParsedSpec, cluster: ClusterFacts) => ReasonDetail;
  /** What would make the cluster pass, to follow "would fit with"; undefined if nothing would. */
  remedy: (spec: ParsedSpec, cluster: ClusterFacts) => string | undefined;
}>;

/**
 * The filters in evaluation order; the first that fails gives the reason. Filters on the placement's spec come before
 * those on the cluster's current state. A placement that rejects a cluster by its spec is therefore not affected, and
 * not enqueued, when that cluster becomes Ready or loses Ready.
 */
export const filters: readonly Filter[] = [
  {
    reason: "Deleting",
    fails: (_, { deleting }) => deleting,
    detail: () => ({ actual: "a registration that is being deleted" }),
    remedy: () => undefined,
  },
  {
    reason: "NotListed",
    isRelevant: ({ clusterNames }) => clusterNames !== undefined,
    fails: ({ clusterNames }, { name }) => clusterNames?.has(name) === false,
    detail: () => ({ rule: "clusterNames" }),
    remedy: (_, { name }) => `${name} among clusterNames`,
  },
  {
    reason: "SelectorMismatch",
    isRelevant: ({ locationSelector }) => locationSelector.length > 0,
    fails: ({ locationSelector }, { labels }) => {
      for (const requirement of locationSelector) if (!satisfies(labels, requirement)) return true;
      return false;
    },
    detail: ({ locationSelector }, { labels }) => {
      const missed = locationSelector.find((requirement) => !satisfies(labels, requirement));
      if (missed === undefined) return {};
      return {
        rule: `locationSelector[${missed.key}]`,
        expected: missed.text,
        actual: formatLabel(labels, missed.key),
      };
    },
    remedy: ({ locationSelector }, { labels }) =>
      `label ${locationSelector
        .filter((requirement) => !satisfies(labels, requirement))
        .map(({ text }) => text)
        .join(", ")}`,
  },
  {
    reason: "AffinityMismatch",
    isRelevant: ({ affinity }) => affinity.length > 0,
    fails: ({ affinity }, { labels }) => affinity.length > 0 && !matchesAnyTerm(labels, affinity),
    detail: ({ affinity }, { labels }) => {
      const missed = affinity[0]?.requirements.find((requirement) => !satisfies(labels, requirement));
      return {
        rule: "affinity.clusterAffinity",
        expected: affinity.map(({ text }) => text).join(" or "),
        actual: formatLabel(labels, missed?.key ?? ""),
      };
    },
    remedy: ({ affinity }) => `label ${affinity.map(({ text }) => text).join(" or ")}`,
  },
  {
    reason: "AntiAffinityMatch",
    isRelevant: ({ antiAffinity }) => antiAffinity.length > 0,
    fails: ({ antiAffinity }, { labels }) => matchesAnyTerm(labels, antiAffinity),
    detail: ({ antiAffinity }, { labels }) => {
      const matched = antiAffinity.find((term) => matchesTerm(labels, term));
      return {
        rule: "affinity.clusterAntiAffinity",
        expected: matched?.text ?? "",
        actual: matched?.requirements.map(({ key }) => formatLabel(labels, key)).join(",") ?? "",
      };
    },
    remedy: ({ antiAffinity }, { labels }) =>
      `labels other than ${antiAffinity
        .filter((term) => matchesTerm(labels, term))
        .map(({ text }) => text)
        .join(" and ")}`,
  },
  {
    reason: "TopologyKeyMissing",
    isRelevant: ({ spreadConstraints }) => spreadConstraints.length > 0,
    fails: ({ spreadConstraints }, { labels }) => {
      for (const { topologyKey, isStrict } of spreadConstraints) if (isStrict && !labels.has(topologyKey)) return true;
      return false;
    },
    detail: ({ spreadConstraints }, { labels }) => {
      const key =
        spreadConstraints.find((constraint) => constraint.isStrict && !labels.has(constraint.topologyKey))
          ?.topologyKey ?? "";
      return { rule: `spreadConstraints[${key}]`, expected: `a label ${key}`, actual: formatLabel(labels, key) };
    },
    remedy: ({ spreadConstraints }, { labels }) =>
      `label ${spreadConstraints
        .filter(({ topologyKey, isStrict }) => isStrict && !labels.has(topologyKey))
        .map(({ topologyKey }) => topologyKey)
        .join(", ")}`,
  },
  {
    reason: "CapabilityMissing",
    isRelevant: ({ capabilities }) => capabilities.length > 0,
    fails: ({ capabilities }, cluster) => {
      for (const required of capabilities) if (isMissing(required, cluster)) return true;
      return false;
    },
    detail: ({ capabilities }, cluster) => {
      const type = capabilities.find((required) => isMissing(required, cluster))?.type ?? "";
      const declared = cluster.capabilities.get(type)?.declared === true;
      return {
        rule: `capabilityRequirements[${type}]`,
        expected: type,
        actual: declared ? `${type} declared as not available` : `no ${type}`,
      };
    },
    remedy: ({ capabilities }, cluster) =>
      `capability ${capabilities
        .filter((required) => isMissing(required, cluster))
        .map(({ text }) => text)
        .join(", ")}`,
  },
  {
    reason: "CapabilityTooOld",
    isRelevant: ({ capabilities }) => capabilities.some(({ minVersion }) => minVersion !== undefined),
    fails: ({ capabilities }, cluster) => {
      for (const required of capabilities) if (isTooOld(required, cluster)) return true;
      return false;
    },
    detail: ({ capabilities }, cluster) => {
      const required = capabilities.find((each) => isTooOld(each, cluster));
      const version = cluster.capabilities.get(required?.type ?? "")?.version;
      return {
        rule: `capabilityRequirements[${required?.type ?? ""}]`,
        expected: required?.text ?? "",
        actual: `${required?.type ?? ""} ${version ?? "of unknown version"}`,
      };
    },
    remedy: ({ capabilities }, cluster) =>
      `capability ${capabilities
        .filter((required) => isTooOld(required, cluster))
        .map(({ text }) => text)
        .join(", ")}`,
  },
  {
    reason: "ApiNotServed",
    isRelevant: ({ workloadApis }) => workloadApis.length > 0,
    // A cluster whose served types are unknown is not rejected here: its Ready condition decides whether it is usable.
    fails: ({ workloadApis }, { apis }) => {
      if (apis !== undefined) for (const api of workloadApis) if (!apis.has(api)) return true;
      return false;
    },
    detail: ({ workloadApis }, { apis }) => ({
      rule: "workloadSelector.workloadTypes",
      expected: workloadApis.find((api) => apis?.has(api) === false) ?? "",
      actual: "no such type",
    }),
    remedy: ({ workloadApis }, { apis }) =>
      `the type ${workloadApis.filter((api) => apis?.has(api) === false).join(", ")}`,
  },
  {
    reason: "NotReady",
    fails: (_, { ready }) => ready !== "True",
    detail: (_, { ready, readyReason }) => ({
      rule: "Ready",
      expected: "Ready=True",
      actual: `Ready=${ready} (${readyReason})`,
    }),
    remedy: () => "Ready=True",
  },
  {
    reason: "Unschedulable",
    fails: (_, { unschedulable }) => unschedulable,
    detail: () => ({ rule: "unschedulable", expected: "unschedulable=false", actual: "unschedulable=true" }),
    remedy: () => "unschedulable=false",
  },
  {
    reason: "UntoleratedTaint",
    fails: ({ tolerations }, { taints }) =>
      taints.length > 0 && taints.some((taint) => isUntolerated(tolerations, taint)),
    detail: ({ tolerations }, { taints }) => {
      const taint = taints.find((each) => isUntolerated(tolerations, each));
      return {
        rule: "tolerations",
        expected: "no untolerated taint",
        actual: taint === undefined ? "" : `taint ${formatTaint(taint)}`,
      };
    },
    remedy: ({ tolerations }, { taints }) =>
      `a toleration of ${taints
        .filter((taint) => isUntolerated(tolerations, taint))
        .map(formatTaint)
        .join(", ")}`,
  },
  {
    reason: "InsufficientResources",
    isRelevant: ({ resources }) => resources.length > 0,
    fails: ({ resources }, cluster) =>
      resources.length > 0 && resources.some((amount) => isInsufficient(amount, cluster)),
    detail: ({ resources }, cluster) => {
      const amount = resources.find((each) => isInsufficient(each, cluster));
      if (amount === undefined) return {};
      const has = cluster.allocatable[amount.resource];
      return {
        rule: `resources.${amount.resource}`,
        expected: amount.text,
        actual: `${has === undefined ? "an unknown amount of" : formatQuantity(has.quantity)} ${amount.resource}`,
      };
    },
    remedy: ({ resources }, cluster) =>
      `${resources
        .filter((amount) => isInsufficient(amount, cluster))
        .map(({ text }) => text)
        .join(" and ")} allocatable`,
  },
];

/** Returns the first filter that the cluster fails; undefined if the cluster fits. */
export function rejectingFilter(spec: ParsedSpec, cluster: ClusterFacts): Filter | undefined {
  return firstFailing(filters, spec, cluster);
}

/** Returns a function that gives the same result as `rejectingFilter`, but faster for many clusters and one spec. */
export function compileFilters(spec: ParsedSpec): (cluster: ClusterFacts) => Filter | undefined {
  const relevant = filters.filter(({ isRelevant }) => isRelevant === undefined || isRelevant(spec));
  const fromSpec = relevant.filter(({ isRelevant }) => isRelevant !== undefined);
  return (cluster) => firstFailing(isUnrestricted(cluster) ? fromSpec : relevant, spec, cluster);
}

function firstFailing(candidates: readonly Filter[], spec: ParsedSpec, cluster: ClusterFacts): Filter | undefined {
  for (const filter of candidates) if (filter.fails(spec, cluster)) return filter;
  return undefined;
}

/** Whether a cluster has a capability in at least the required version. */
export function hasCapability(requirement: CapabilityRequirement, cluster: ClusterFacts): boolean {
  return cluster.capabilities.get(requirement.type)?.available === true && !isTooOld(requirement, cluster);
}

function isMissing(
  { type }: CapabilityRequirement,
  { capabilities, capabilitiesDetected, ready }: ClusterFacts,
): boolean {
  const capability = capabilities.get(type);
  if (capability !== undefined) return !capability.available;
  // Capabilities were never detected. If the cluster is not Ready either, NotReady is the more accurate reason.
  return capabilitiesDetected || ready === "True";
}

function isTooOld(
  { type, minVersion, parsedMinVersion }: CapabilityRequirement,
  { capabilities }: ClusterFacts,
): boolean {
  if (minVersion === undefined) return false;
  const capability = capabilities.get(type);
  if (capability === undefined || !capability.available) return false;
  // A version that cannot be parsed, on either side, counts as too old.
  return (
    capability.parsedVersion === undefined ||
    parsedMinVersion === undefined ||
    compareVersionNumbers(capability.parsedVersion, parsedMinVersion) < 0
  );
}

/** A taint that is tolerated only for a limited time repels new workloads too: they would be evicted again. */
function isUntolerated(tolerations: ParsedSpec["tolerations"], taint: ClusterTaint): boolean {
  return taint.effect !== "PreferNoSchedule" && toleratedSeconds(tolerations, taint) !== Infinity;
}

function isInsufficient(
  { resource, quantity }: ParsedSpec["resources"][number],
  { allocatable }: ClusterFacts,
): boolean {
  const has = allocatable[resource];
  return has !== undefined && compareQuantities(has.quantity, quantity) < 0;
}

function matchesAnyTerm(labels: ReadonlyMap<string, string>, terms: readonly Term[]): boolean {
  for (const term of terms) if (matchesTerm(labels, term)) return true;
  return false;
}

function formatLabel(labels: ReadonlyMap<string, string>, key: string): string {
  const value = labels.get(key);
  return value === undefined ? `no ${key}` : `${key}=${value}`;
}
