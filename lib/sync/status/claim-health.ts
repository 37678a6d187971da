import { applied, failed, type Health, type HealthFacts, ready } from "./copy-health.ts";
import { textAt } from "./json.ts";

/** Kubernetes puts these on a claim when somebody is asked to provide its volume. */
const providing = [
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
  "volume.kubernetes.io/selected-node",
];

/**
 * Tells how a claim is. One whose class waits for the first pod that uses it stays unbound until there is one: it counts as
 * ready, or a pod that comes after it would never come. Its status does not say so; that nobody was asked to provide
 * the volume does.
 */
export function claimHealth({ spec, status, annotations }: HealthFacts): Health {
  const phase = textAt(status, "phase");
  if (phase === "Bound") return ready();
  if (phase === "Lost") return failed("GaveUp", "its volume is lost");
  if (phase === undefined) return applied("NotReady", "the cluster has not looked at it");
  // An empty class asks for a volume that a person makes; those do not wait for pods.
  const isAwaited = textAt(spec, "storageClassName") === "" || providing.some((key) => Object.hasOwn(annotations, key));
  if (isAwaited) return applied("NotReady", "it has no volume yet");
  return ready({}, { reason: "WaitingForConsumer", message: "it has no volume, and may wait for a pod that uses it" });
}
