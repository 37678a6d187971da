import { compareStrings } from "@tmc/kube/compare.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { findCondition } from "../../model/condition.ts";
import { confirmFailureAnnotation } from "../../placement/observed.ts";
import { type OpenWorkspace, resourceTypes } from "../workspace.ts";

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
