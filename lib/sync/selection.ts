import { compareStrings } from "@tmc/kube/compare.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { type LabelSelector, type LabelSelectorObject, matchesLabels, selectorFromObject } from "@tmc/kube/selector.ts";
import { claimedWorkloads, isClaimed, type WorkloadType } from "../api/workload-kinds.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import type { Texts } from "../model/json.ts";
import { isReservedNamespace } from "./ownership/namespace-map.ts";
import type { Blocker } from "./targets/decide.ts";

/** What placements ask of a workload, which is of a type that is looked after. */
export type Selectable = Readonly<{
  apiVersion: string;
  kind: string;
  labels: Texts | undefined;
  namespace: string;
  /** The labels of its namespace. */
  namespaceLabels: Texts | undefined;
}>;

type Selecting = Readonly<Pick<WorkloadPlacement, "metadata" | "spec">>;

/**
 * Tells whether a placement is about a workload: about none without a selector, and otherwise about what every part of the
 * selector names. A part that is left out names all; of the types all but those that only come along. An empty list
 * names none.
 *
 * Fails with the fault "invalid", naming the field, when the selector makes no sense: such a placement says neither yes nor
 * no.
 */
export function selectsWorkload({ metadata, spec }: Selecting, workload: Selectable): boolean {
  const { workloadSelector } = spec;
  if (workloadSelector === undefined || isReservedNamespace(workload.namespace)) return false;
  const parsed = parseOnce(workloadSelector);
  if (typeof parsed === "string") {
    throw new ControllerError("invalid", `placement ${JSON.stringify(metadata.name ?? "")}: ${parsed}`);
  }
  return (
    namesType(workloadSelector, workload) &&
    namesNamespace(workloadSelector, workload.namespace) &&
    matchesLabels(parsed.labels, workload.labels) &&
    matchesLabels(parsed.namespaceLabels, workload.namespaceLabels)
  );
}

/** The placement that says where a workload runs, and the names of others that would say so too, the next one first. */
export type Governing<P> = Readonly<{ placement: P; others: readonly string[] }>;

/**
 * Finds the one placement that governs a workload: the recorded one for as long as it selects it, so that a new placement
 * moves nothing by itself; else one that asks for labels before one that asks for none, then the oldest, then by name.
 * One that is being deleted governs nothing.
 *
 * A placement whose selector makes no sense keeps what it has and gets nothing new: where it is the recorded one this fails
 * with the fault "invalid", for to pass it over would send its work away because of a slip of the pen.
 */
export function governing<P extends Selecting>(
  placements: readonly P[],
  workload: Selectable,
  recorded: string | undefined,
): Governing<P> | undefined {
  const isRecorded = ({ metadata }: P) => metadata.name === recorded;
  const selecting = placements
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .filter((each) => (isRecorded(each) || isReadable(each)) && selectsWorkload(each, workload))
    .toSorted((one, other) => (isRecorded(one) ? -1 : isRecorded(other) ? 1 : byPrecedence(one, other)));
  const [placement, ...others] = selecting;
  return placement === undefined ? undefined : { placement, others: others.map(({ metadata }) => metadata.name ?? "") };
}

type WorkloadSelector = NonNullable<WorkloadPlacement["spec"]["workloadSelector"]>;
type Parsed = Readonly<{ labels: LabelSelector; namespaceLabels: LabelSelector }>;

// An object that was handed out is never changed, so what was read from it stays true; it goes when the object goes.
const parsedSelectors = new WeakMap<WorkloadSelector, Parsed | string>();

/** The selectors, or what is wrong with them: every workload asks for them anew. */
function parseOnce(selector: WorkloadSelector): Parsed | string {
  const known = parsedSelectors.get(selector);
  if (known !== undefined) return known;
  const labels = parse("labelSelector", selector.labelSelector);
  const namespaceLabels = parse("namespaceSelector", selector.namespaceSelector);
  const parsed =
    typeof labels === "string"
      ? labels
      : typeof namespaceLabels === "string"
        ? namespaceLabels
        : { labels, namespaceLabels };
  parsedSelectors.set(selector, parsed);
  return parsed;
}

function parse(field: string, selector: LabelSelectorObject = {}): LabelSelector | string {
  try {
    return selectorFromObject(selector);
  } catch (error) {
    return `spec.workloadSelector.${field}: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/** Whether a placement's selector makes sense. */
export function isReadable({ spec }: Selecting): boolean {
  return spec.workloadSelector === undefined || typeof parseOnce(spec.workloadSelector) !== "string";
}

function namesType({ workloadTypes }: WorkloadSelector, { apiVersion, kind }: Selectable): boolean {
  const isIt = (type: Readonly<{ apiVersion: string; kind: string }>) =>
    type.apiVersion === apiVersion && type.kind === kind;
  return workloadTypes === undefined ? !claimedWorkloads.some(isIt) : workloadTypes.some(isIt);
}

function namesNamespace({ namespaces, excludedNamespaces }: WorkloadSelector, namespace: string): boolean {
  if (excludedNamespaces?.includes(namespace) === true) return false;
  return namespaces === undefined || namespaces.includes(namespace);
}

function byPrecedence(one: Selecting, other: Selecting): number {
  return (
    Number(asksForLabels(other)) - Number(asksForLabels(one)) ||
    compareStrings(one.metadata.creationTimestamp ?? youngest, other.metadata.creationTimestamp ?? youngest) ||
    compareStrings(one.metadata.name ?? "", other.metadata.name ?? "")
  );
}

function asksForLabels({ spec }: Selecting): boolean {
  const { matchLabels = {}, matchExpressions = [] } = spec.workloadSelector?.labelSelector ?? {};
  return Object.keys(matchLabels).length > 0 || matchExpressions.length > 0;
}

/** After every moment that a server writes. */
const youngest = "~";

/** The types of which these placements may be about some: those that they name, and of one that names none every type of work. */
export function selectedTypes(
  placements: readonly Pick<WorkloadPlacement, "spec">[],
  types: readonly WorkloadType[],
): readonly WorkloadType[] {
  const selectors = placements.flatMap(({ spec }) => spec.workloadSelector ?? []);
  return types.filter((each) =>
    selectors.some(({ workloadTypes }) =>
      workloadTypes === undefined
        ? !isClaimed(each)
        : workloadTypes.some(({ apiVersion, kind }) => apiVersion === each.apiVersion && kind === each.kind),
    ),
  );
}

/** What the placements of a logical cluster are asked about a namespace. */
export type Scope = Readonly<{
  placements: readonly WorkloadPlacement[];
  namespace: string;
  namespaceLabels: Readonly<Record<string, string>> | undefined;
}>;

/** Who says where a workload runs, and what is wrong with that. */
export type Governor = Readonly<{ placement?: WorkloadPlacement | undefined; problem?: Blocker }>;

/** The placement that governs a workload. One whose selector makes no sense keeps what it has, as it is. */
export function governorOf(
  { placements, namespace, namespaceLabels }: Scope,
  workload: Pick<Selectable, "apiVersion" | "kind" | "labels">,
  recorded: string | undefined,
): Governor {
  const { apiVersion, kind, labels } = workload;
  try {
    return {
      placement: governing(placements, { apiVersion, kind, labels, namespace, namespaceLabels }, recorded)?.placement,
    };
  } catch (error) {
    if (!(error instanceof ControllerError) || error.fault !== "invalid") throw error;
    const placement = placements.find(({ metadata }) => metadata.name === recorded);
    return { placement, problem: { reason: "SelectorInvalid", message: error.message } };
  }
}
