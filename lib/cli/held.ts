import { compareStrings } from "@tmc/kube/compare.ts";
import type { WorkloadSync } from "../api/workload-sync.ts";
import { controlAnnotations, controlsOf } from "../sync/control-annotations.ts";
import { holdOf } from "../sync/eviction/deletion-guard.ts";
import type { NamedWorkload } from "./workload-words.ts";
import { workloadTitle } from "./workload-words.ts";

/** Copies of one workload that would go, and wait for somebody to confirm that. */
export type HeldWorkload = Readonly<{
  namespace: string;
  title: string;
  record: WorkloadSync;
  /** The clusters that have them, with why they are held and what that hold is called. */
  clusters: readonly Readonly<{ name: string; why: string; hold: string }>[];
}>;

export type HeldFilter = Readonly<{
  /** Only these workloads; undefined for all. */
  workloads?: readonly Pick<NamedWorkload, "type" | "name" | "kind">[] | undefined;
  /** Only these clusters; undefined for all. */
  clusters?: readonly string[] | undefined;
}>;

/** What is held, in the order of namespaces and names. */
export function heldIn(
  records: readonly WorkloadSync[],
  { workloads, clusters }: HeldFilter = {},
): readonly HeldWorkload[] {
  return records
    .filter((record) => workloads === undefined || workloads.some((each) => isAbout(record, each)))
    .map((record) => ({
      namespace: record.metadata.namespace ?? "",
      title: workloadTitle(record.spec.workload),
      record,
      clusters: (record.status?.clusters ?? [])
        .filter(({ name, state }) => state === "Held" && (clusters === undefined || clusters.includes(name)))
        .flatMap(({ name, message = "" }) => {
          const hold = holdOf(record, name);
          return hold === undefined ? [] : [{ name, why: message, hold }];
        }),
    }))
    .filter((each) => each.clusters.length > 0)
    .toSorted((one, other) => compareStrings(keyOf(one), keyOf(other)));
}

/** Whether a record is about a workload of that type and name. */
export function isAbout(
  { spec }: WorkloadSync,
  { type, name, kind }: Pick<NamedWorkload, "type" | "name" | "kind">,
): boolean {
  const { workload } = spec;
  const group = workload.apiVersion.includes("/") ? workload.apiVersion.split("/", 1)[0] : "";
  return workload.name === name && group === type.group && (kind === undefined || kind === workload.kind);
}

/**
 * What the annotation of a workload is to say: the holds that are confirmed now, and of those that were confirmed before the
 * ones that still last. A word that was given for what has gone by is worth nothing; it is only in the way.
 */
export function confirmation(
  { record, clusters }: Pick<HeldWorkload, "record" | "clusters">,
  annotations: Readonly<Record<string, string>> | undefined,
): string {
  const lasting = new Set(heldIn([record]).flatMap((each) => each.clusters.map(({ hold }) => hold)));
  const before = [...controlsOf({ metadata: { annotations: { ...annotations } } }).confirmed];
  const all = [...before.filter((hold) => lasting.has(hold)), ...clusters.map(({ hold }) => hold)];
  return [...new Set(all)].toSorted().join(",");
}

/** What the annotation is to say when copies have gone; null when nothing is left to say. */
export function withdrawal(
  { clusters }: Pick<HeldWorkload, "clusters">,
  annotations: Readonly<Record<string, string>> | undefined,
): string | null {
  const over = new Set(clusters.map(({ hold }) => hold));
  const { confirmed } = controlsOf({ metadata: { annotations: { ...annotations } } });
  const left = [...confirmed].filter((hold) => !over.has(hold));
  return left.length === 0 ? null : left.join(",");
}

/** The annotation that confirms. */
export const confirmAnnotation = controlAnnotations.confirmed;

const keyOf = ({ namespace, title }: HeldWorkload): string => `${namespace}/${title}`;
