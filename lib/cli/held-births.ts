import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { findCondition } from "../model/condition.ts";
import { confirmUpsyncAnnotation, parseHeldWords } from "../upsync/inventory.ts";

/** Objects of a workspace that were born on one cluster, are gone there, and wait for somebody to confirm that they may go. */
export type HeldBirths = Readonly<{
  /** How the cluster is named to confirm it: `cluster/east`. */
  title: string;
  cluster: string;
  /** How many objects it is about; a confirmation counts for no more. */
  count: number;
  why: string;
}>;

const clusterWords = ["cluster", "clusters", "cr", "clusterregistration", "clusterregistrations"];

/** The cluster that `cluster/east` names; undefined for any other words. */
export function clusterIn(words: string): string | undefined {
  const [kind = "", name, ...rest] = words.split("/");
  const [word] = kind.toLowerCase().split(".");
  return name !== undefined && name !== "" && rest.length === 0 && clusterWords.includes(word ?? "") ? name : undefined;
}

/** What upsync holds, in the order of the clusters' names; of all clusters unless some are named. */
export function heldBirthsIn(
  registrations: readonly ClusterRegistration[],
  clusters?: readonly string[] | undefined,
): readonly HeldBirths[] {
  return registrations
    .filter(({ metadata }) => clusters === undefined || clusters.includes(metadata.name ?? ""))
    .flatMap(({ metadata: { name = "" }, status }): HeldBirths[] => {
      const held = findCondition(status?.conditions, "UpsyncHeld");
      const said = held?.status === "True" ? parseHeldWords(held.message) : undefined;
      return said === undefined ? [] : [{ title: `cluster/${name}`, cluster: name, ...said }];
    })
    .toSorted((one, other) => compareStrings(one.cluster, other.cluster));
}

/** Whether what was held and confirmed has gone, or is held no more for another reason. */
export function areGone({ status }: Pick<ClusterRegistration, "status">): boolean {
  const held = findCondition(status?.conditions, "UpsyncHeld");
  return held === undefined || (held.status === "False" && held.reason !== "DeletionsConfirmed");
}

/** The annotation that confirms. */
export const confirmBirthsAnnotation = confirmUpsyncAnnotation;
