import { compareStrings } from "@tmc/kube/compare.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type LabelSelector, type LabelSelectorObject, matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { claimedWorkloads, isClaimed, type WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Texts } from "../model/json.ts";
import { isReservedNamespace } from "./ownership/namespace-map.ts";
import type { Blocker } from "./targets/decide.ts";

/** The facts about a workload that selectors match. Its type is one that TMC syncs. */
export type Selectable = Readonly<{
  apiVersion: string;
  kind: string;
  labels: Texts | undefined;
  namespace: string;
  /** The labels of its namespace. */
  namespaceLabels: Texts | undefined;
}>;

type PlacementSelector = Readonly<Pick<WorkloadPlacement, "metadata" | "spec">>;

/**
 * Whether a placement selects a workload. A placement without a selector selects nothing. Otherwise all given criteria must
 * match. An omitted criterion matches everything, except that omitted types do not match types that are only distributed as
 * dependencies. An empty list matches nothing.
 *
 * Fails with the fault "invalid", naming the field, when the selector is invalid: such a placement neither selects a
 * workload nor rejects it.
 */
export function selectsWorkload({ metadata, spec }: PlacementSelector, workload: Selectable): boolean {
  const { workloadSelector } = spec;
  if (workloadSelector === undefined || isReservedNamespace(workload.namespace)) return false;
  const parsed = parseSelectors(workloadSelector);
  if (typeof parsed === "string") {
    throw new ControllerError("invalid", `placement ${JSON.stringify(metadata.name ?? "")}: ${parsed}`);
  }
  return (
    matchesType(workloadSelector, workload) &&
    matchesNamespace(workloadSelector, workload.namespace) &&
    matchesLabels(parsed.labels, workload.labels) &&
    matchesLabels(parsed.namespaceLabels, workload.namespaceLabels)
  );
}

/** The placement that governs a workload, and the names of the others that select it, in order of precedence. */
export type GoverningPlacement<P> = Readonly<{ placement: P; others: readonly string[] }>;

/**
 * Finds the one placement that governs a workload. The recorded one governs as long as it selects the workload, so that a new
 * placement moves nothing by itself. Otherwise a placement that selects by labels precedes one that does not, then the
 * oldest, then by name. A placement that is being deleted governs nothing.
 *
 * A placement with an invalid selector keeps its workloads and gets no new ones. If it is the recorded one, this fails with
 * the fault "invalid": ignoring it would evict its workloads because of a typo.
 */
export function findGoverningPlacement<P extends PlacementSelector>(
  placements: readonly P[],
  workload: Selectable,
  recorded: string | undefined,
): GoverningPlacement<P> | undefined {
  const isRecorded = ({ metadata }: P) => metadata.name === recorded;
  const selecting = placements
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((each) => (isRecorded(each) || hasValidSelector(each)) && selectsWorkload(each, workload))
    .toSorted((one, other) => (isRecorded(one) ? -1 : isRecorded(other) ? 1 : byPrecedence(one, other)));
  const [placement, ...others] = selecting;
  return placement === undefined ? undefined : { placement, others: others.map(({ metadata }) => metadata.name ?? "") };
}

type WorkloadSelector = NonNullable<WorkloadPlacement["spec"]["workloadSelector"]>;
type ParsedSelectors = Readonly<{ labels: LabelSelector; namespaceLabels: LabelSelector }>;

// Cached objects are never modified, so a parsed selector stays valid as long as its object exists.
const parsedSelectors = new WeakMap<WorkloadSelector, ParsedSelectors | string>();

/** The parsed selectors, or an error message. The result is cached, because every workload asks for it. */
function parseSelectors(selector: WorkloadSelector): ParsedSelectors | string {
  const cached = parsedSelectors.get(selector);
  if (cached !== undefined) return cached;
  const labels = parseSelector("labelSelector", selector.labelSelector);
  const namespaceLabels = parseSelector("namespaceSelector", selector.namespaceSelector);
  const parsed =
    typeof labels === "string"
      ? labels
      : typeof namespaceLabels === "string"
        ? namespaceLabels
        : { labels, namespaceLabels };
  parsedSelectors.set(selector, parsed);
  return parsed;
}

function parseSelector(field: string, selector: LabelSelectorObject = {}): LabelSelector | string {
  try {
    return selectorFromObject(selector);
  } catch (error) {
    return `spec.workloadSelector.${field}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

export function hasValidSelector({ spec }: PlacementSelector): boolean {
  return spec.workloadSelector === undefined || typeof parseSelectors(spec.workloadSelector) !== "string";
}

function matchesType({ workloadTypes }: WorkloadSelector, { apiVersion, kind }: Selectable): boolean {
  const isSameType = (type: Readonly<{ apiVersion: string; kind: string }>) =>
    type.apiVersion === apiVersion && type.kind === kind;
  return workloadTypes === undefined ? !claimedWorkloads.some(isSameType) : workloadTypes.some(isSameType);
}

function matchesNamespace({ namespaces, excludedNamespaces }: WorkloadSelector, namespace: string): boolean {
  if (excludedNamespaces?.includes(namespace) === true) return false;
  return namespaces === undefined || namespaces.includes(namespace);
}

function byPrecedence(one: PlacementSelector, other: PlacementSelector): number {
  return (
    Number(selectsByLabels(other)) - Number(selectsByLabels(one)) ||
    compareStrings(one.metadata.creationTimestamp ?? notCreated, other.metadata.creationTimestamp ?? notCreated) ||
    compareStrings(one.metadata.name ?? "", other.metadata.name ?? "")
  );
}

function selectsByLabels({ spec }: PlacementSelector): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec.workloadSelector?.labelSelector ?? {};
  return Object.keys(matchLabels).length > 0 || matchExpressions.length > 0;
}

/** Sorts after every timestamp that a server writes. */
const notCreated = "~";

/** The types of which these placements may select objects: the types that they name, or every offered type where one names none. */
export function selectedTypes(
  placements: readonly Pick<WorkloadPlacement, "spec">[],
  types: readonly WorkloadType[],
): readonly WorkloadType[] {
  const selectors = placements.flatMap(({ spec }) => spec.workloadSelector ?? []);
  return types.filter((type) =>
    selectors.some(({ workloadTypes }) =>
      workloadTypes === undefined
        ? !isClaimed(type)
        : workloadTypes.some(({ apiVersion, kind }) => apiVersion === type.apiVersion && kind === type.kind),
    ),
  );
}

/** The placements of a logical cluster, and the namespace whose workloads they are matched against. */
export type SelectionScope = Readonly<{
  placements: readonly WorkloadPlacement[];
  namespace: string;
  namespaceLabels: Readonly<Record<string, string>> | undefined;
}>;

/** The placement that governs a workload, and why it cannot be evaluated, if so. */
export type ResolvedPlacement = Readonly<{ placement?: WorkloadPlacement | undefined; blocker?: Blocker }>;

/** Finds the placement that governs a workload. The recorded one, if its selector is invalid, is returned with a blocker. */
export function resolvePlacement(
  { placements, namespace, namespaceLabels }: SelectionScope,
  workload: Pick<Selectable, "apiVersion" | "kind" | "labels">,
  recorded: string | undefined,
): ResolvedPlacement {
  const { apiVersion, kind, labels } = workload;
  const selectable = { apiVersion, kind, labels, namespace, namespaceLabels };
  try {
    return { placement: findGoverningPlacement(placements, selectable, recorded)?.placement };
  } catch (error) {
    if (!(error instanceof ControllerError) || error.fault !== "invalid") throw error;
    const placement = placements.find(({ metadata }) => metadata.name === recorded);
    return { placement, blocker: { reason: "SelectorInvalid", message: error.message } };
  }
}
