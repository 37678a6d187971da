import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { findCondition } from "../../model/condition.ts";
import { confirmUpsyncAnnotation } from "../../upsync/inventory.ts";

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
