import type { Pod } from "./kinds.ts";
import type { PodOutcome } from "./scheduling/kubelet.ts";

/** Current behavior of the cluster's workloads, set by the methods of the cluster and read by its controllers. */
export type Behavior = {
  /** The scheduler finds no node for any pod. */
  full: boolean;
  /** Images cannot be pulled and running containers crash. */
  broken: boolean;
  /** How long a pod takes to become ready, and to terminate. */
  readyMs: number;
  /** How long the pods of a job run. */
  runMs: number;
  outcomeOf: (pod: Pod) => PodOutcome | undefined;
};

/** Annotation of a pod template that sets the outcome of its pods. */
export const outcomeAnnotation = "embedded.tmc.kcp.io/outcome";

const outcomes: readonly PodOutcome[] = ["runs", "completes", "fails", "image-missing", "crashes"];

/** Decides the outcome of a pod: by the `podOutcome` option, then by annotation, then by the kind of its owner. */
export function outcomeFor({ broken, outcomeOf }: Behavior, pod: Pod): PodOutcome {
  if (broken) return "image-missing";
  const chosen = outcomeOf(pod);
  if (chosen !== undefined) return chosen;
  const annotated = outcomes.find((outcome) => outcome === pod.metadata.annotations?.[outcomeAnnotation]);
  if (annotated !== undefined) return annotated;
  return pod.metadata.ownerReferences?.some((owner) => owner.kind === "Job") ? "completes" : "runs";
}
