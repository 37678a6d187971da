import { compareStrings } from "@tmc/kube/compare.ts";
import { parseQuantity, quantityToNumber } from "@tmc/kube/quantity.ts";
import {
  formatLabelSelector,
  type LabelOperator,
  type LabelSelectorObject,
  satisfiesRequirement,
  selectorFromObject,
} from "@tmc/kube/selector.ts";
import { userAnnotations } from "../api/annotations.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { clip } from "../model/text.ts";
import type { ResourceAmount } from "./observed.ts";
import type { ReadyReason } from "./reasons.ts";
import { type ClusterToleration, notReadyKey, toleratedSeconds } from "./taints.ts";
import { parseVersion, type Version } from "./versions.ts";

export type Strategy = "RoundRobin" | "Spread" | "Affinity";
export const defaultStrategy: Strategy = "RoundRobin";

/** Upper bound of selected clusters per placement: `status.selectedClusters` can hold no more. */
export const maxSelectedClusters = 1000;

/** Annotations by which a placement states preferences that never reject a cluster. */
export const hintAnnotations = {
  preferredCluster: userAnnotations.preferredCluster.name,
  avoidCluster: userAnnotations.avoidCluster.name,
  preferredLocation: userAnnotations.preferredLocation.name,
} as const;

/** One requirement on a label; `text` is its selector notation for messages. */
export type Requirement = Readonly<{ key: string; operator: LabelOperator; values: readonly string[]; text: string }>;
/** Label requirements that must all hold. */
export type Term = Readonly<{ requirements: readonly Requirement[]; text: string }>;
export type CapabilityRequirement = Readonly<{
  type: string;
  minVersion: string | undefined;
  /** Undefined if `minVersion` is unset or is not a version. */
  parsedMinVersion: Version | undefined;
  text: string;
}>;
export type SpreadConstraint = Readonly<{
  topologyKey: string;
  maxSkew: number;
  /** True for `DoNotSchedule`. */
  isStrict: boolean;
}>;
export type ResourceRequest = ResourceAmount & Readonly<{ resource: "cpu" | "memory"; text: string }>;

/** A placement's spec and hint annotations, parsed once into the form that filters and scorers read. */
export type ParsedSpec = Readonly<{
  strategy: Strategy;
  /** Undefined selects every cluster that fits. */
  numberOfClusters: number | undefined;
  clusterNames: ReadonlySet<string> | undefined;
  locationSelector: readonly Requirement[];
  affinity: readonly Term[];
  antiAffinity: readonly Term[];
  /** Preferred terms; those of the anti-affinity have a negative weight. */
  preferred: readonly Readonly<{ name: string; weight: number; term: Term }>[];
  capabilities: readonly CapabilityRequirement[];
  optionalCapabilities: readonly CapabilityRequirement[];
  /** `apps/v1 Deployment`: types that the cluster must serve. */
  workloadApis: readonly string[];
  tolerations: readonly ClusterToleration[];
  /** How long a cluster that is not Ready is tolerated; undefined if the placement has no such toleration. */
  notReadySeconds: number | undefined;
  /** How long a cluster must have fit before the placement fails back to it; undefined if failback is off. */
  failbackSeconds: number | undefined;
  spreadConstraints: readonly SpreadConstraint[];
  resources: readonly ResourceRequest[];
  /** How to rank clusters with the same score by what is reserved on them; undefined if that does not matter. */
  scoring: "LeastAllocated" | "MostAllocated" | undefined;
  preferredClusters: ReadonlySet<string>;
  hintedClusters: ReadonlySet<string>;
  avoidedClusters: ReadonlySet<string>;
  hintedLocations: ReadonlySet<string>;
}>;

/** A spec that cannot be parsed. The message names the field, because only the user can correct it. */
export class InvalidSpec extends Error {
  override readonly name = "InvalidSpec";
  readonly reason: ReadyReason;

  constructor(reason: ReadyReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Parses a placement's spec and hint annotations; throws InvalidSpec, which names the field. */
export function parseSpec({ metadata, spec }: Pick<WorkloadPlacement, "metadata" | "spec">): ParsedSpec {
  const strategy = spec.strategy ?? defaultStrategy;
  const { clusterAffinity, clusterAntiAffinity } = spec.affinity ?? {};
  const tolerations = spec.tolerations ?? [];
  const capabilities = spec.capabilityRequirements ?? [];
  const terms = (path: string, selectors: readonly LabelSelectorObject[] = []) =>
    selectors.map((selector, index) => parseTerm(`${path}[${index}]`, selector));
  const weighted = (
    path: string,
    sign: 1 | -1,
    list: readonly Readonly<{ weight: number; term: LabelSelectorObject }>[] = [],
  ) =>
    list.map(({ weight, term: selector }, index) => {
      const term = parseTerm(`${path}[${index}].term`, selector);
      return {
        name: clip(`${sign > 0 ? "affinity" : "antiAffinity"} ${term.text}`),
        weight: sign * weight,
        term,
      };
    });
  const { labelSelector, namespaceSelector } = spec.workloadSelector ?? {};
  // lib/sync evaluates the workload selector. It is parsed here only to report its errors together with all others.
  if (labelSelector !== undefined) parseTerm("spec.workloadSelector.labelSelector", labelSelector);
  if (namespaceSelector !== undefined) parseTerm("spec.workloadSelector.namespaceSelector", namespaceSelector);
  const hints = (annotation: string) => parseNames(metadata.annotations?.[annotation]);

  return {
    strategy,
    numberOfClusters: spec.numberOfClusters ?? (strategy === "Spread" ? undefined : 1),
    clusterNames: spec.clusterNames === undefined ? undefined : new Set(spec.clusterNames),
    locationSelector:
      spec.locationSelector === undefined ? [] : parseTerm("spec.locationSelector", spec.locationSelector).requirements,
    affinity: terms("spec.affinity.clusterAffinity.required", clusterAffinity?.required),
    antiAffinity: terms("spec.affinity.clusterAntiAffinity.required", clusterAntiAffinity?.required),
    preferred: [
      ...weighted("spec.affinity.clusterAffinity.preferred", 1, clusterAffinity?.preferred),
      ...weighted("spec.affinity.clusterAntiAffinity.preferred", -1, clusterAntiAffinity?.preferred),
    ],
    capabilities: capabilities.filter(({ required }) => required !== false).map(parseCapabilityRequirement),
    optionalCapabilities: capabilities.filter(({ required }) => required === false).map(parseCapabilityRequirement),
    workloadApis: (spec.workloadSelector?.workloadTypes ?? [])
      .filter(({ apiVersion }) => spec.customResources !== "Install" || !isCustomApi(apiVersion))
      .map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
    tolerations,
    notReadySeconds: toleratedSeconds(tolerations, { key: notReadyKey, value: "", effect: "NoExecute" }),
    failbackSeconds: spec.failback?.afterSeconds,
    spreadConstraints: (spec.spreadConstraints ?? []).map(({ topologyKey, maxSkew, whenUnsatisfiable }) => ({
      topologyKey,
      maxSkew: maxSkew ?? 1,
      isStrict: whenUnsatisfiable !== "ScheduleAnyway",
    })),
    resources: (["cpu", "memory"] as const).flatMap((resource) =>
      parseResourceRequest(resource, spec.resources?.[resource]),
    ),
    scoring: spec.scoring,
    preferredClusters: spec.preferredClusters === undefined ? noNames : new Set(spec.preferredClusters),
    hintedClusters: hints(hintAnnotations.preferredCluster),
    avoidedClusters: hints(hintAnnotations.avoidCluster),
    hintedLocations: hints(hintAnnotations.preferredLocation),
  };
}

type CachedSpec = Readonly<{
  annotations: WorkloadPlacement["metadata"]["annotations"];
  parsed: ParsedSpec | InvalidSpec;
}>;

// Objects of the cache are never modified in place, so a parsed spec stays valid as long as its object lives.
const parsedSpecs = new WeakMap<WorkloadPlacement["spec"], CachedSpec>();

/** Parses a placement's spec, or returns why it is invalid. Each spec object is parsed once. */
export function tryParseSpec(placement: Pick<WorkloadPlacement, "metadata" | "spec">): ParsedSpec | InvalidSpec {
  const { annotations } = placement.metadata;
  const cached = parsedSpecs.get(placement.spec);
  if (cached !== undefined && cached.annotations === annotations) return cached.parsed;
  const parsed = parseOrReject(placement);
  parsedSpecs.set(placement.spec, { annotations, parsed });
  return parsed;
}

function parseOrReject(placement: Pick<WorkloadPlacement, "metadata" | "spec">): ParsedSpec | InvalidSpec {
  try {
    return parseSpec(placement);
  } catch (error) {
    if (error instanceof InvalidSpec) return error;
    throw error;
  }
}

export function satisfies(labels: ReadonlyMap<string, string>, requirement: Requirement): boolean {
  return satisfiesRequirement(labels.get(requirement.key), requirement);
}

export function matchesTerm(labels: ReadonlyMap<string, string>, { requirements }: Term): boolean {
  for (const requirement of requirements) if (!satisfies(labels, requirement)) return false;
  return true;
}

/** Groups that every cluster serves: `batch`, `networking.k8s.io`; but not `gateway.networking.k8s.io`. */
const builtInGroup = /^[a-z]*$|^([a-z]+|rbac\.authorization|flowcontrol\.apiserver)\.k8s\.io$/;

/** Whether TMC can install the type on a cluster as a CustomResourceDefinition. */
function isCustomApi(apiVersion: string): boolean {
  const [group = ""] = apiVersion.split("/", 1);
  return apiVersion.includes("/") && !builtInGroup.test(group);
}

const noNames: ReadonlySet<string> = new Set();

/** Parses a comma-separated list: `a, b`. */
function parseNames(list: string | undefined): ReadonlySet<string> {
  if (list === undefined) return noNames;
  const names = list.split(",").map((name) => name.trim());
  return new Set(names.filter((name) => name !== ""));
}

function parseTerm(path: string, selector: LabelSelectorObject): Term {
  // Each requirement is parsed separately so that the error message can name the invalid one.
  const parts = [
    ...Object.entries(selector.matchLabels ?? {})
      .toSorted(([a], [b]) => compareStrings(a, b))
      .map(([key, value]) => [`${path}.matchLabels`, { matchLabels: { [key]: value } }] as const),
    ...(selector.matchExpressions ?? []).map(
      (expression, index) => [`${path}.matchExpressions[${index}]`, { matchExpressions: [expression] }] as const,
    ),
  ];
  const requirements = parts.flatMap(([partPath, part]) => {
    try {
      return selectorFromObject(part).map((requirement) => ({
        ...requirement,
        text: formatLabelSelector([requirement]),
      }));
    } catch (error) {
      throw new InvalidSpec(
        "InvalidSelector",
        `${partPath}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  });
  const text = requirements.map((requirement) => requirement.text).join(",");
  return { requirements, text: text === "" ? "any cluster" : text };
}

function parseCapabilityRequirement({
  type,
  minVersion,
}: Readonly<{ type: string; minVersion?: string }>): CapabilityRequirement {
  if (minVersion === undefined) return { type, minVersion, parsedMinVersion: undefined, text: type };
  return { type, minVersion, parsedMinVersion: parseVersion(minVersion), text: `${type} ${minVersion} or later` };
}

function parseResourceRequest(resource: "cpu" | "memory", text: string | undefined): ResourceRequest[] {
  if (text === undefined) return [];
  try {
    const quantity = parseQuantity(text);
    return [{ resource, quantity, units: quantityToNumber(quantity), text: `${text} ${resource}` }];
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new InvalidSpec("InvalidResources", `spec.resources.${resource}: ${JSON.stringify(text)}: ${message}`);
  }
}
