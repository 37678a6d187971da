import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { isReservedNamespace } from "../sync/ownership/namespace-map.ts";
import { type Governing, type Selectable, selectsWorkload } from "../sync/selection.ts";

/** What a placement has to do with a workload. */
export type Selection = Readonly<{ placement: string; governs: boolean; selects: boolean; why: string }>;

export type SelectionFacts = Readonly<{
  placements: readonly WorkloadPlacement[];
  workload: Selectable;
  /** The placement that the record names. */
  recorded: string | undefined;
  governed: Governing<WorkloadPlacement> | undefined;
}>;

/** Says of every placement whether it governs a workload, and why it does not: the one that does first, then those that could. */
export function selectionsOf({ placements, workload, recorded, governed }: SelectionFacts): readonly Selection[] {
  const chosen = governed?.placement.metadata.name ?? "";
  const rank = ({ governs, selects }: Selection): number => (governs ? 0 : selects ? 1 : 2);
  return placements
    .map((placement): Selection => {
      const name = placement.metadata.name ?? "";
      if (governed !== undefined && name === chosen) {
        const isAlone = governed.others.length === 0;
        const why = isAlone
          ? "no other selects it"
          : name === recorded
            ? "it did before, and still selects it"
            : firstWords;
        return { placement: name, governs: true, selects: true, why };
      }
      if (governed?.others.includes(name) === true) {
        return { placement: name, governs: false, selects: true, why: `selects it too; ${chosen} comes first` };
      }
      return { placement: name, governs: false, selects: false, why: whyNot(placement, workload) };
    })
    .toSorted((one, other) => rank(one) - rank(other) || compareStrings(one.placement, other.placement));
}

const firstWords = "it comes first: with labels before without, then the oldest, then by name";

/** Which part of a selector leaves a workload out. Each part is asked by itself, in the words of the whole. */
function whyNot(placement: WorkloadPlacement, workload: Selectable): string {
  const { metadata, spec } = placement;
  if (metadata.deletionTimestamp !== undefined) return "it is being deleted";
  const { workloadSelector } = spec;
  if (workloadSelector === undefined) return "it has no workloadSelector, and so selects nothing";
  if (isReservedNamespace(workload.namespace)) return `nothing is taken from namespace ${workload.namespace}`;
  const { labelSelector, workloadTypes, namespaceSelector, namespaces, excludedNamespaces } = workloadSelector;
  const allTypes = workloadTypes ?? [{ apiVersion: workload.apiVersion, kind: workload.kind }];
  const passes = (part: typeof workloadSelector): boolean => {
    const asked = { workloadTypes: allTypes, ...part };
    return selectsWorkload({ metadata, spec: { ...spec, workloadSelector: asked } }, workload);
  };
  try {
    if (!passes({})) return `workloadTypes do not name ${workload.apiVersion} ${workload.kind}`;
    if (namespaces !== undefined && !passes({ namespaces })) return `namespaces do not name ${workload.namespace}`;
    if (excludedNamespaces !== undefined && !passes({ excludedNamespaces })) {
      return `excludedNamespaces name ${workload.namespace}`;
    }
    if (labelSelector !== undefined && !passes({ labelSelector })) return "labelSelector does not match its labels";
    if (namespaceSelector !== undefined && !passes({ namespaceSelector })) {
      return `namespaceSelector does not match the labels of namespace ${workload.namespace}`;
    }
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  return `${workload.kind}s come along with what refers to them; workloadTypes can name them`;
}
