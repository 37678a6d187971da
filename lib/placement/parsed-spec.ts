import { compareStrings } from "@tmc/kube/compare.ts";
import { parseQuantity, quantityToNumber } from "@tmc/kube/quantity.ts";
import {
  formatLabelSelector,
  type LabelOperator,
  type LabelSelectorObject,
  satisfiesRequirement,
  selectorFromObject,
} from "@tmc/kube/selector.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { clip } from "../model/text.ts";
import type { Room } from "./observed.ts";
import type { ReadyReason } from "./reasons.ts";
import { notReadyKey, type Toleration, toleratedSeconds } from "./taints.ts";
import { parseVersion, type Version } from "./versions.ts";

export type Strategy = "RoundRobin" | "Spread" | "Affinity";
/** The strategy of a placement that names none. */
export const defaultStrategy: Strategy = "RoundRobin";

/** How many clusters a placement can have at most: what its status has room for. */
export const mostClusters = 1000;

/** The annotations by which a placement says what it would like, without insisting. */
export const hintAnnotations = {
  preferredCluster: "tmc.kcp.io/preferred-cluster",
  avoidCluster: "tmc.kcp.io/avoid-cluster",
  preferredLocation: "tmc.kcp.io/preferred-location",
} as const;

/** One requirement on a label, with its words. */
export type Requirement = Readonly<{ key: string; operator: LabelOperator; values: readonly string[]; text: string }>;
/** Requirements that must all hold, with their words. */
export type Term = Readonly<{ requirements: readonly Requirement[]; text: string }>;
export type CapabilityWish = Readonly<{
  type: string;
  minVersion: string | undefined;
  parsed: Version | undefined;
  text: string;
}>;
export type SpreadWish = Readonly<{ key: string; maxSkew: number; strict: boolean }>;
export type Amount = Room & Readonly<{ resource: "cpu" | "memory"; text: string }>;

/** A placement's spec, read once and put into the form in which clusters are held against it. */
export type Wish = Readonly<{
  strategy: Strategy;
  /** How many clusters to choose; all that fit when undefined. */
  wanted: number | undefined;
  names: ReadonlySet<string> | undefined;
  selector: readonly Requirement[];
  affinity: readonly Term[];
  antiAffinity: readonly Term[];
  /** Preferred terms; those to avoid have a negative weight. */
  preferred: readonly Readonly<{ name: string; weight: number; term: Term }>[];
  capabilities: readonly CapabilityWish[];
  optionalCapabilities: readonly CapabilityWish[];
  apis: readonly string[];
  tolerations: readonly Toleration[];
  /** How long a cluster that is not Ready is borne; undefined where the placement does not say. */
  notReadySeconds: number | undefined;
  /** How long a cluster must have fitted before the placement returns to it; undefined when it never does. */
  failbackSeconds: number | undefined;
  spread: readonly SpreadWish[];
  resources: readonly Amount[];
  preferredClusters: ReadonlySet<string>;
  hintedClusters: ReadonlySet<string>;
  avoidedClusters: ReadonlySet<string>;
  hintedLocations: ReadonlySet<string>;
}>;

/** Why a placement cannot be read; for the user, who alone can change it. */
export class InvalidWish extends Error {
  override readonly name = "InvalidWish";
  readonly reason: ReadyReason;

  constructor(reason: ReadyReason, message: string) {
    super(message);
    this.reason = reason;
  }
}

/** Reads what a placement wishes for; throws InvalidWish, naming the field, where it makes no sense. */
export function readWish({ metadata, spec }: Pick<WorkloadPlacement, "metadata" | "spec">): Wish {
  const strategy = spec.strategy ?? defaultStrategy;
  const { clusterAffinity, clusterAntiAffinity } = spec.affinity ?? {};
  const tolerations = spec.tolerations ?? [];
  const capabilities = spec.capabilityRequirements ?? [];
  const terms = (path: string, selectors: readonly LabelSelectorObject[] = []) =>
    selectors.map((selector, index) => readTerm(`${path}[${index}]`, selector));
  const weighted = (
    path: string,
    sign: 1 | -1,
    list: readonly Readonly<{ weight: number; term: LabelSelectorObject }>[] = [],
  ) =>
    list.map(({ weight, term }, index) => {
      const read = readTerm(`${path}[${index}].term`, term);
      return {
        name: clip(`${sign > 0 ? "affinity" : "antiAffinity"} ${read.text}`),
        weight: sign * weight,
        term: read,
      };
    });
  const { labelSelector, namespaceSelector } = spec.workloadSelector ?? {};
  // Which work it is about is for others to judge; that it cannot be read is said here, with everything else.
  if (labelSelector !== undefined) readTerm("spec.workloadSelector.labelSelector", labelSelector);
  if (namespaceSelector !== undefined) readTerm("spec.workloadSelector.namespaceSelector", namespaceSelector);
  const hints = (annotation: string) => namesIn(metadata.annotations?.[annotation]);

  return {
    strategy,
    wanted: spec.numberOfClusters ?? (strategy === "Spread" ? undefined : 1),
    names: spec.clusterNames === undefined ? undefined : new Set(spec.clusterNames),
    selector:
      spec.locationSelector === undefined ? [] : readTerm("spec.locationSelector", spec.locationSelector).requirements,
    affinity: terms("spec.affinity.clusterAffinity.required", clusterAffinity?.required),
    antiAffinity: terms("spec.affinity.clusterAntiAffinity.required", clusterAntiAffinity?.required),
    preferred: [
      ...weighted("spec.affinity.clusterAffinity.preferred", 1, clusterAffinity?.preferred),
      ...weighted("spec.affinity.clusterAntiAffinity.preferred", -1, clusterAntiAffinity?.preferred),
    ],
    capabilities: capabilities.filter(({ required }) => required !== false).map(capabilityWish),
    optionalCapabilities: capabilities.filter(({ required }) => required === false).map(capabilityWish),
    apis: (spec.workloadSelector?.workloadTypes ?? [])
      .filter(({ apiVersion }) => spec.customResources !== "Install" || !isCustom(apiVersion))
      .map(({ apiVersion, kind }) => `${apiVersion} ${kind}`),
    tolerations,
    notReadySeconds: toleratedSeconds(tolerations, { key: notReadyKey, value: "", effect: "NoExecute" }),
    failbackSeconds: spec.failback?.afterSeconds,
    spread: (spec.spreadConstraints ?? []).map(({ topologyKey, maxSkew, whenUnsatisfiable }) => ({
      key: topologyKey,
      maxSkew: maxSkew ?? 1,
      strict: whenUnsatisfiable !== "ScheduleAnyway",
    })),
    resources: (["cpu", "memory"] as const).flatMap((resource) => readAmount(resource, spec.resources?.[resource])),
    preferredClusters: spec.preferredClusters === undefined ? nobody : new Set(spec.preferredClusters),
    hintedClusters: hints(hintAnnotations.preferredCluster),
    avoidedClusters: hints(hintAnnotations.avoidCluster),
    hintedLocations: hints(hintAnnotations.preferredLocation),
  };
}

type Read = Readonly<{ annotations: WorkloadPlacement["metadata"]["annotations"]; wish: Wish | InvalidWish }>;

// An object that was handed out is never changed, so what was read from its spec stays true; it goes when the spec goes.
const readSpecs = new WeakMap<WorkloadPlacement["spec"], Read>();

/** Reads what a placement wishes for, or says why it cannot be read; the same spec is read once. */
export function tryReadWish(placement: Pick<WorkloadPlacement, "metadata" | "spec">): Wish | InvalidWish {
  const { annotations } = placement.metadata;
  const known = readSpecs.get(placement.spec);
  if (known !== undefined && known.annotations === annotations) return known.wish;
  const wish = readOrRefuse(placement);
  readSpecs.set(placement.spec, { annotations, wish });
  return wish;
}

function readOrRefuse(placement: Pick<WorkloadPlacement, "metadata" | "spec">): Wish | InvalidWish {
  try {
    return readWish(placement);
  } catch (error) {
    if (error instanceof InvalidWish) return error;
    throw error;
  }
}

/** Tells whether a cluster's labels satisfy a requirement. */
export function satisfies(labels: ReadonlyMap<string, string>, requirement: Requirement): boolean {
  return satisfiesRequirement(labels.get(requirement.key), requirement);
}

/** Tells whether a cluster's labels satisfy all requirements of a term. */
export function matches(labels: ReadonlyMap<string, string>, { requirements }: Term): boolean {
  for (const requirement of requirements) if (!satisfies(labels, requirement)) return false;
  return true;
}

/** Groups that every cluster comes with: `batch`, `networking.k8s.io`; `gateway.networking.k8s.io` is not among them. */
const builtInGroup = /^[a-z]*$|^([a-z]+|rbac\.authorization|flowcontrol\.apiserver)\.k8s\.io$/;

/** Types that a cluster can be given. */
function isCustom(apiVersion: string): boolean {
  const [group = ""] = apiVersion.split("/", 1);
  return apiVersion.includes("/") && !builtInGroup.test(group);
}

const nobody: ReadonlySet<string> = new Set();

/** Reads `a, b`. */
function namesIn(list: string | undefined): ReadonlySet<string> {
  if (list === undefined) return nobody;
  const names = list.split(",").map((name) => name.trim());
  return new Set(names.filter((name) => name !== ""));
}

function readTerm(path: string, selector: LabelSelectorObject): Term {
  // One by one, so that the message can say which of them is wrong.
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
      throw new InvalidWish(
        "InvalidSelector",
        `${partPath}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  });
  const text = requirements.map((requirement) => requirement.text).join(",");
  return { requirements, text: text === "" ? "any cluster" : text };
}

function capabilityWish({ type, minVersion }: Readonly<{ type: string; minVersion?: string }>): CapabilityWish {
  if (minVersion === undefined) return { type, minVersion, parsed: undefined, text: type };
  return { type, minVersion, parsed: parseVersion(minVersion), text: `${type} ${minVersion} or later` };
}

function readAmount(resource: "cpu" | "memory", text: string | undefined): Amount[] {
  if (text === undefined) return [];
  try {
    const quantity = parseQuantity(text);
    return [{ resource, quantity, units: quantityToNumber(quantity), text: `${text} ${resource}` }];
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidWish("InvalidResources", `spec.resources.${resource}: ${JSON.stringify(text)}: ${why}`);
  }
}
