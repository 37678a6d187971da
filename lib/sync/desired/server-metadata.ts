/** Tells whether a label of a workload was put there by the hub and says nothing on a cluster. */
export function isHubLabel(name: string): boolean {
  return isOfKcp(name);
}

/** Tells whether an annotation of a workload was put there by the hub, by its controllers or by kubectl, or is for TMC alone. */
export function isHubAnnotation(name: string): boolean {
  return isOfKcp(name) || name.startsWith("deployment.kubernetes.io/") || hubAnnotations.has(name);
}

/** `kcp.io/cluster`, `internal.workload.kcp.io/synctarget`, and all of ours, `tmc.kcp.io/…`. */
function isOfKcp(name: string): boolean {
  const [domain = ""] = name.split("/", 1);
  return domain === "kcp.io" || domain.endsWith(".kcp.io");
}

/** What controllers of a Kubernetes hub note on the objects that they have worked on. */
const hubAnnotations: ReadonlySet<string> = new Set([
  // A second copy of the object, with all that the first must not carry down.
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.daemonset.template.generation",
  "batch.kubernetes.io/job-tracking",
  "batch.kubernetes.io/cronjob-scheduled-timestamp",
  "autoscaling.alpha.kubernetes.io/conditions",
  "autoscaling.alpha.kubernetes.io/current-metrics",
  "pv.kubernetes.io/bind-completed",
  "pv.kubernetes.io/bound-by-controller",
  "volume.kubernetes.io/selected-node",
  "volume.kubernetes.io/storage-provisioner",
  "volume.beta.kubernetes.io/storage-provisioner",
  "volume.kubernetes.io/storage-resizer",
]);
