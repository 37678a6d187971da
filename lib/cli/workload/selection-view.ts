import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import type { WorkloadSync } from "../../api/workload-sync.ts";
import { findCondition } from "../../model/condition.ts";
import { isReservedNamespace } from "../../sync/ownership/namespace-map.ts";
import { type GoverningPlacement, type Selectable, selectsWorkload } from "../../sync/selection.ts";
import { workloadTitle } from "./workload-argument.ts";

/** Whether a placement selects and governs a workload, and why. */
export type PlacementSelection = Readonly<{ placement: string; governs: boolean; selects: boolean; message: string }>;

export type PlacementSelectionInput = Readonly<{
  placements: readonly WorkloadPlacement[];
  workload: Selectable;
  /** The placement in the sync record. */
  recorded: string | undefined;
  governing: GoverningPlacement<WorkloadPlacement> | undefined;
}>;

/** Evaluates all placements for a workload: first the governing one, then the others that select it, then the rest. */
export function selectionsOf({
  placements,
  workload,
  recorded,
  governing,
}: PlacementSelectionInput): readonly PlacementSelection[] {
  const chosen = governing?.placement.metadata.name ?? "";
  const rank = ({ governs, selects }: PlacementSelection): number => (governs ? 0 : selects ? 1 : 2);
  return placements
    .map((placement): PlacementSelection => {
      const name = placement.metadata.name ?? "";
      if (governing !== undefined && name === chosen) {
        const isAlone = governing.others.length === 0;
        const message = isAlone
          ? "the only placement that selects it"
          : name === recorded
            ? "it governed the workload before and still selects it"
            : precedenceText;
        return { placement: name, governs: true, selects: true, message };
      }
      if (governing?.others.includes(name) === true) {
        return { placement: name, governs: false, selects: true, message: `${chosen} takes precedence` };
      }
      return { placement: name, governs: false, selects: false, message: rejectionReason(placement, workload) };
    })
    .toSorted((one, other) => rank(one) - rank(other) || compareStrings(one.placement, other.placement));
}

const precedenceText = "it takes precedence: placements with a labelSelector first, then the oldest, then by name";

/** Returns which criterion of a selector does not match, by evaluating each criterion alone. */
function rejectionReason(placement: WorkloadPlacement, workload: Selectable): string {
  const { metadata, spec } = placement;
  if (metadata.deletionTimestamp !== undefined) return "it is being deleted";
  const { workloadSelector } = spec;
  if (workloadSelector === undefined) return "it has no workloadSelector and selects nothing";
  if (isReservedNamespace(workload.namespace))
    return `namespace ${workload.namespace} is reserved and never synchronized`;
  const { labelSelector, workloadTypes, namespaceSelector, namespaces, excludedNamespaces } = workloadSelector;
  const allTypes = workloadTypes ?? [{ apiVersion: workload.apiVersion, kind: workload.kind }];
  const passes = (part: typeof workloadSelector): boolean => {
    const asked = { workloadTypes: allTypes, ...part };
    return selectsWorkload({ metadata, spec: { ...spec, workloadSelector: asked } }, workload);
  };
  try {
    if (!passes({})) return `workloadTypes does not contain ${workload.apiVersion} ${workload.kind}`;
    if (namespaces !== undefined && !passes({ namespaces })) return `namespaces does not contain ${workload.namespace}`;
    if (excludedNamespaces !== undefined && !passes({ excludedNamespaces })) {
      return `excludedNamespaces contains ${workload.namespace}`;
    }
    if (labelSelector !== undefined && !passes({ labelSelector }))
      return "labelSelector does not match the labels of the workload";
    if (namespaceSelector !== undefined && !passes({ namespaceSelector })) {
      return `namespaceSelector does not match the labels of namespace ${workload.namespace}`;
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return `${workload.kind}s are synchronized as dependencies of workloads; add the kind to workloadTypes to select it`;
}

/** Says which workloads stay where they are because of their volumes, by the condition of their sync records, and what allows the move. */
export function workloadsHeldByVolumes(records: readonly WorkloadSync[]): readonly string[] {
  return records
    .flatMap(({ metadata: { namespace = "" }, spec: { workload }, status }) => {
      const held = findCondition(status?.conditions, "EvictionHeld");
      if (held?.status !== "True" || held.reason !== "VolumeNotMovable") return [];
      const shared =
        "sharedStorageClasses moves it with its data if all clusters can use volumes of that storage class";
      return [`${workloadTitle(workload)} in ${namespace} is held by its volumes: ${held.message}; ${shared}`];
    })
    .toSorted(compareStrings);
}
