import type { Pod } from "./kinds.ts";
import type { Outcome } from "./scheduling/kubelet.ts";

/** How the cluster treats its workloads at the moment; changed by the cluster's knobs and read by its controllers. */
export type Behaviour = {
  /** No pod finds a node. */
  full: boolean;
  /** Images cannot be pulled and running containers crash. */
  broken: boolean;
  /** How long a pod takes to be ready, and to end. */
  readyMs: number;
  /** How long a job's pod works. */
  runMs: number;
  outcomeOf: (pod: Pod) => Outcome | undefined;
};

/** A pod template that carries this annotation says itself what becomes of its pods. */
export const outcomeAnnotation = "embedded.tmc.kcp.io/outcome";

const outcomes: readonly Outcome[] = ["runs", "completes", "fails", "image-missing", "crashes"];

/** What becomes of a pod: what the cluster's owner says, then its annotation, then what its kind of workload does. */
export function outcomeFor({ broken, outcomeOf }: Behaviour, pod: Pod): Outcome {
  if (broken) return "image-missing";
  const told = outcomeOf(pod);
  if (told !== undefined) return told;
  const annotated = outcomes.find((outcome) => outcome === pod.metadata.annotations?.[outcomeAnnotation]);
  if (annotated !== undefined) return annotated;
  return pod.metadata.ownerReferences?.some((owner) => owner.kind === "Job") ? "completes" : "runs";
}
