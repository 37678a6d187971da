import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";

type Parts = Readonly<{ metadata?: Partial<ObjectMeta>; spec?: object; status?: object }>;

const build = (apiVersion: string, kind: string, name: string, { metadata, spec = {}, status }: Parts): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, uid: `uid-${name}`, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
  spec,
  ...(status !== undefined && { status }),
});

const kplane = "controlplane.kplane.dev/v1alpha1";

export const aSyncTarget = (name: string, parts: Parts = {}): KubeObject =>
  build("workload.kcp.io/v1alpha1", "SyncTarget", name, parts);
export const anEndpoint = (name: string, parts: Parts = {}): KubeObject =>
  build(kplane, "ControlPlaneEndpoint", name, parts);
export const aControlPlane = (name: string, parts: Parts = {}): KubeObject =>
  build(kplane, "ControlPlane", name, parts);
export const aControlPlaneRegistration = (name: string, parts: Parts = {}): KubeObject =>
  build(kplane, "ControlPlaneRegistration", name, parts);

/** Returns a ClusterRegistration with a location. */
export const aClusterRegistration = (
  name: string,
  spec: Partial<ClusterRegistration["spec"]> = {},
  metadata: Partial<ObjectMeta> = {},
): ClusterRegistration => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "ClusterRegistration",
  metadata: { name, uid: `uid-${name}`, creationTimestamp: "2026-01-01T00:00:00Z", ...metadata },
  spec: { location: "us-east-1", ...spec },
});

/** Returns a Ready condition of another project's kind. */
export const ready = (status: "True" | "False" = "True", reason = "Reconciled"): object => ({
  type: "Ready",
  status,
  reason,
  message: "",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
