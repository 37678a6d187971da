import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { confirmFailureAnnotation } from "../../placement/observed.ts";
import { confirmUpsyncAnnotation } from "../../upsync/inventory.ts";
import { type OpenWorkspace, resourceTypes } from "../workspace.ts";

/** Upsynced objects that no longer exist on their cluster and whose deletion upstream is held until it is confirmed. */
export type HeldUpsync = Readonly<{
  /** The argument that confirms them, such as `cluster/east`. */
  title: string;
  registration: string;
  /** How many deletions are held; a confirmation covers no more than this. */
  count: number;
  message: string;
}>;

const clusterKindNames = ["cluster", "clusters", "cr", "clusterregistration", "clusterregistrations"];

/** Parses an argument such as `cluster/east`; undefined when it names another kind. */
export function parseClusterArgument(argument: string): string | undefined {
  const [kind = "", name, ...rest] = argument.split("/");
  const [kindName = ""] = kind.toLowerCase().split(".");
  return name !== undefined && name !== "" && rest.length === 0 && clusterKindNames.includes(kindName)
    ? name
    : undefined;
}

/** Finds held deletions of upsynced objects, sorted by cluster; of all clusters unless some are named. */
export function findHeldUpsync(
  registrations: readonly ClusterRegistration[],
  clusters?: readonly string[] | undefined,
): readonly HeldUpsync[] {
  return registrations
    .filter(({ metadata }) => clusters === undefined || clusters.includes(metadata.name ?? ""))
    .flatMap(({ metadata: { name = "" }, status }): HeldUpsync[] => {
      const count = status?.upsync?.heldDeletions ?? 0;
      if (count === 0) return [];
      const message = `${formatObjectCount(count)} no longer exist${count === 1 ? "s" : ""} on the cluster`;
      return [{ title: `cluster/${name}`, registration: name, count, message }];
    })
    .toSorted((one, other) => compareStrings(one.registration, other.registration));
}

/** Returns `1 upsynced object` or `3 upsynced objects`. */
export function formatObjectCount(count: number): string {
  return `${count} upsynced object${count === 1 ? "" : "s"}`;
}

/** Whether the confirmed deletions are finished, or nothing is held any more for another reason. */
export function isUpsyncReleased({ status }: Pick<ClusterRegistration, "status">): boolean {
  const held = findCondition(status?.conditions, "UpsyncHeld");
  return held === undefined || (held.status === "False" && held.reason !== "DeletionsConfirmed");
}

/** The annotation of a registration that confirms held deletions of upsynced objects. */
export const confirmUpsyncDeletionsAnnotation = confirmUpsyncAnnotation;

/** A cluster from which no placement is evicted, because TMC suspects that its connection failed and not the cluster. */
export type HeldEvictions = Readonly<{
  /** The argument that confirms the failure, such as `failure/east`. */
  title: string;
  registration: string;
  /** When the cluster lost Ready, as its condition says; the confirmation applies to this failure alone. */
  since: string;
  message: string;
}>;

/** Parses an argument such as `failure/east`; undefined when it names something else. */
export function parseFailureArgument(argument: string): string | undefined {
  const [kind, name, ...rest] = argument.split("/");
  return kind === "failure" && name !== undefined && name !== "" && rest.length === 0 ? name : undefined;
}

/** Finds the clusters from which evictions are held, sorted by name. */
export function findHeldEvictions(
  registrations: readonly ClusterRegistration[],
  placements: readonly WorkloadPlacement[],
  clusters?: readonly string[] | undefined,
): readonly HeldEvictions[] {
  const counts = new Map<string, number>();
  for (const { status } of placements) {
    for (const { cluster, reason } of status?.decisions ?? []) {
      if (reason === "KeptMassFailure") counts.set(cluster, (counts.get(cluster) ?? 0) + 1);
    }
  }
  return registrations
    .flatMap(({ metadata: { name = "" }, status }): HeldEvictions[] => {
      const ready = findCondition(status?.conditions, "Ready");
      const count = counts.get(name) ?? 0;
      if (count === 0 || ready === undefined || (clusters !== undefined && !clusters.includes(name))) return [];
      const message = `${count} placement${count === 1 ? " stays" : "s stay"} on the cluster: most clusters stopped responding at once`;
      return [{ title: `failure/${name}`, registration: name, since: ready.lastTransitionTime, message }];
    })
    .toSorted((one, other) => compareStrings(one.registration, other.registration));
}

/** Confirms that a cluster has failed. The placements are evicted from it at once; the value does not apply to a later failure. */
export async function confirmFailure(
  { client }: OpenWorkspace,
  { registration: name, since }: HeldEvictions,
): Promise<void> {
  const body = { metadata: { annotations: { [confirmFailureAnnotation]: since } } };
  await client.patch({ type: resourceTypes.registrations, name }, { type: "merge", body }, { fieldManager: "tmc-cli" });
}
