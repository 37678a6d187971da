import { compareQuantities, formatQuantity } from "@tmc/kube/quantity.ts";
import { type ClusterFacts, isSound, type Taint } from "./observed.ts";
import { type CapabilityWish, matches, satisfies, type Term, type Wish } from "./parsed-spec.ts";
import type { DecisionReason, Detail } from "./reasons.ts";
import { formatTaint, toleratedSeconds } from "./taints.ts";
import { compareVersionNumbers } from "./versions.ts";

/**
 * A rule that a cluster must satisfy. `fails` costs next to nothing, as it is asked of every cluster of every placement;
 * `detail` is asked only where the answer is shown.
 */
export type Filter = Readonly<{
  reason: DecisionReason;
  /** Whether the wish has anything to say about this. Left out where it is the cluster's own state: no sound cluster fails. */
  matters?: (wish: Wish) => boolean;
  fails: (wish: Wish, cluster: ClusterFacts) => boolean;
  detail: (wish: Wish, cluster: ClusterFacts) => Detail;
  /** What would make the cluster pass, as it follows "would fit with"; nothing where nothing would. */
  remedy: (wish: Wish, cluster: ClusterFacts) => string | undefined;
}>;

/**
 * The filters in their order; the first that fails gives the reason. What a placement asks for comes before how the cluster
 * feels today: a cluster that a placement does not want is none of its business when it turns ready or not, and nobody
 * needs to be woken for it.
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
    matters: ({ names }) => names !== undefined,
    fails: ({ names }, { name }) => names?.has(name) === false,
    detail: () => ({ rule: "clusterNames" }),
    remedy: (_, { name }) => `${name} among clusterNames`,
  },
  {
    reason: "SelectorMismatch",
    matters: ({ selector }) => selector.length > 0,
    fails: ({ selector }, { labels }) => {
      for (const requirement of selector) if (!satisfies(labels, requirement)) return true;
      return false;
    },
    detail: ({ selector }, { labels }) => {
      const missed = selector.find((requirement) => !satisfies(labels, requirement));
      if (missed === undefined) return {};
      return { rule: `locationSelector[${missed.key}]`, expected: missed.text, actual: labelText(labels, missed.key) };
    },
    remedy: ({ selector }, { labels }) =>
      `label ${selector
        .filter((requirement) => !satisfies(labels, requirement))
        .map(({ text }) => text)
        .join(", ")}`,
  },
  {
    reason: "AffinityMismatch",
    matters: ({ affinity }) => affinity.length > 0,
    fails: ({ affinity }, { labels }) => affinity.length > 0 && !matchesAny(labels, affinity),
    detail: ({ affinity }, { labels }) => {
      const missed = affinity[0]?.requirements.find((requirement) => !satisfies(labels, requirement));
      return {
        rule: "affinity.clusterAffinity",
        expected: affinity.map(({ text }) => text).join(" or "),
        actual: labelText(labels, missed?.key ?? ""),
      };
    },
    remedy: ({ affinity }) => `label ${affinity.map(({ text }) => text).join(" or ")}`,
  },
  {
    reason: "AntiAffinityMatch",
    matters: ({ antiAffinity }) => antiAffinity.length > 0,
    fails: ({ antiAffinity }, { labels }) => matchesAny(labels, antiAffinity),
    detail: ({ antiAffinity }, { labels }) => {
      const matched = antiAffinity.find((term) => matches(labels, term));
      return {
        rule: "affinity.clusterAntiAffinity",
        expected: matched?.text ?? "",
        actual: matched?.requirements.map(({ key }) => labelText(labels, key)).join(",") ?? "",
      };
    },
    remedy: ({ antiAffinity }, { labels }) =>
      `labels other than ${antiAffinity
        .filter((term) => matches(labels, term))
        .map(({ text }) => text)
        .join(" and ")}`,
  },
  {
    reason: "TopologyKeyMissing",
    matters: ({ spread }) => spread.length > 0,
    fails: ({ spread }, { labels }) => {
      for (const { key, strict } of spread) if (strict && !labels.has(key)) return true;
      return false;
    },
    detail: ({ spread }, { labels }) => {
      const key = spread.find((constraint) => constraint.strict && !labels.has(constraint.key))?.key ?? "";
      return { rule: `spreadConstraints[${key}]`, expected: `a label ${key}`, actual: labelText(labels, key) };
    },
    remedy: ({ spread }, { labels }) =>
      `label ${spread
        .filter(({ key, strict }) => strict && !labels.has(key))
        .map(({ key }) => key)
        .join(", ")}`,
  },
  {
    reason: "CapabilityMissing",
    matters: ({ capabilities }) => capabilities.length > 0,
    fails: ({ capabilities }, cluster) => {
      for (const wish of capabilities) if (isMissing(wish, cluster)) return true;
      return false;
    },
    detail: ({ capabilities }, cluster) => {
      const type = capabilities.find((wish) => isMissing(wish, cluster))?.type ?? "";
      const declared = cluster.capabilities.get(type)?.declared === true;
      return {
        rule: `capabilityRequirements[${type}]`,
        expected: type,
        actual: declared ? `${type} declared as not available` : `no ${type}`,
      };
    },
    remedy: ({ capabilities }, cluster) =>
      `capability ${capabilities
        .filter((wish) => isMissing(wish, cluster))
        .map(({ text }) => text)
        .join(", ")}`,
  },
  {
    reason: "CapabilityTooOld",
    matters: ({ capabilities }) => capabilities.some(({ minVersion }) => minVersion !== undefined),
    fails: ({ capabilities }, cluster) => {
      for (const wish of capabilities) if (isTooOld(wish, cluster)) return true;
      return false;
    },
    detail: ({ capabilities }, cluster) => {
      const wish = capabilities.find((each) => isTooOld(each, cluster));
      const version = cluster.capabilities.get(wish?.type ?? "")?.version;
      return {
        rule: `capabilityRequirements[${wish?.type ?? ""}]`,
        expected: wish?.text ?? "",
        actual: `${wish?.type ?? ""} ${version ?? "of no known version"}`,
      };
    },
    remedy: ({ capabilities }, cluster) =>
      `capability ${capabilities
        .filter((wish) => isTooOld(wish, cluster))
        .map(({ text }) => text)
        .join(", ")}`,
  },
  {
    reason: "ApiNotServed",
    matters: ({ apis }) => apis.length > 0,
    // A cluster whose types nobody has seen yet is not rejected: its Ready condition tells whether it can be used at all.
    fails: ({ apis: wanted }, { apis }) => {
      if (apis !== undefined) for (const api of wanted) if (!apis.has(api)) return true;
      return false;
    },
    detail: ({ apis: wanted }, { apis }) => ({
      rule: "workloadSelector.workloadTypes",
      expected: wanted.find((api) => apis?.has(api) === false) ?? "",
      actual: "no such type",
    }),
    remedy: ({ apis: wanted }, { apis }) => `the type ${wanted.filter((api) => apis?.has(api) === false).join(", ")}`,
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
    fails: ({ tolerations }, { taints }) => taints.length > 0 && taints.some((taint) => repels(tolerations, taint)),
    detail: ({ tolerations }, { taints }) => {
      const taint = taints.find((each) => repels(tolerations, each));
      return {
        rule: "tolerations",
        expected: "no such taint",
        actual: taint === undefined ? "" : `taint ${formatTaint(taint)}`,
      };
    },
    remedy: ({ tolerations }, { taints }) =>
      `a toleration of ${taints
        .filter((taint) => repels(tolerations, taint))
        .map(formatTaint)
        .join(", ")}`,
  },
  {
    reason: "InsufficientResources",
    matters: ({ resources }) => resources.length > 0,
    fails: ({ resources }, cluster) => resources.length > 0 && resources.some((amount) => lacks(amount, cluster)),
    detail: ({ resources }, cluster) => {
      const amount = resources.find((each) => lacks(each, cluster));
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
        .filter((amount) => lacks(amount, cluster))
        .map(({ text }) => text)
        .join(" and ")} allocatable`,
  },
];

/** Why new work may not go to a cluster; undefined when it may. */
export function rejection(wish: Wish, cluster: ClusterFacts): Filter | undefined {
  return firstFailing(filters, wish, cluster);
}

/** Answers the same as `rejection`, quickly, where many clusters are held against one wish. */
export function rejectionsFor(wish: Wish): (cluster: ClusterFacts) => Filter | undefined {
  const inQuestion = filters.filter(({ matters }) => matters === undefined || matters(wish));
  const ofTheWish = inQuestion.filter(({ matters }) => matters !== undefined);
  return (cluster) => firstFailing(isSound(cluster) ? ofTheWish : inQuestion, wish, cluster);
}

function firstFailing(inQuestion: readonly Filter[], wish: Wish, cluster: ClusterFacts): Filter | undefined {
  for (const filter of inQuestion) if (filter.fails(wish, cluster)) return filter;
  return undefined;
}

/** Tells whether a cluster has a capability in the version that is asked for. */
export function offers(wish: CapabilityWish, cluster: ClusterFacts): boolean {
  return cluster.capabilities.get(wish.type)?.available === true && !isTooOld(wish, cluster);
}

function isMissing({ type }: CapabilityWish, { capabilities, capabilitiesDetected, ready }: ClusterFacts): boolean {
  const capability = capabilities.get(type);
  if (capability !== undefined) return !capability.available;
  // Nobody could look yet. That it is not Ready is then the truer reason.
  return capabilitiesDetected || ready === "True";
}

function isTooOld({ type, minVersion, parsed }: CapabilityWish, { capabilities }: ClusterFacts): boolean {
  if (minVersion === undefined) return false;
  const capability = capabilities.get(type);
  if (capability === undefined || !capability.available) return false;
  // A version that makes no sense, on either side, is none that would do.
  return (
    capability.parsed === undefined || parsed === undefined || compareVersionNumbers(capability.parsed, parsed) < 0
  );
}

/** New work stays away from a taint that is borne for a while only: it would have to leave again. */
function repels(tolerations: Wish["tolerations"], taint: Taint): boolean {
  return taint.effect !== "PreferNoSchedule" && toleratedSeconds(tolerations, taint) !== Infinity;
}

function lacks({ resource, quantity }: Wish["resources"][number], { allocatable }: ClusterFacts): boolean {
  const has = allocatable[resource];
  return has !== undefined && compareQuantities(has.quantity, quantity) < 0;
}

function matchesAny(labels: ReadonlyMap<string, string>, terms: readonly Term[]): boolean {
  for (const term of terms) if (matches(labels, term)) return true;
  return false;
}

function labelText(labels: ReadonlyMap<string, string>, key: string): string {
  const value = labels.get(key);
  return value === undefined ? `no ${key}` : `${key}=${value}`;
}
