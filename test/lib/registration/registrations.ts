import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { Healthy, RegistrationStatus } from "../../../lib/registration/probe-outcome.ts";

type Changes = Readonly<{
  name?: string;
  metadata?: Partial<ClusterRegistration["metadata"]>;
  spec?: Partial<ClusterRegistration["spec"]>;
  status?: RegistrationStatus;
}>;

/** A complete registration with the given changes. */
export function aRegistration({ name = "east", metadata = {}, spec = {}, status }: Changes = {}): ClusterRegistration {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "ClusterRegistration",
    metadata: { name, generation: 1, resourceVersion: "1", finalizers: ["tmc.kcp.io/cluster"], ...metadata },
    spec: { location: "us-east-1", ...spec },
    ...(status !== undefined && { status }),
  };
}

type Ready = Readonly<{ status?: "True" | "False"; reason?: string; message?: string; generation?: number }>;

/** A status with a Ready condition at the start time of the manual clock. */
export function aStatus(ready: Ready = {}, rest: Partial<RegistrationStatus> = {}): RegistrationStatus {
  const { status = "True", generation = 1 } = ready;
  const isTrue = status === "True";
  return {
    observedGeneration: generation,
    conditions: [
      {
        type: "Ready",
        status,
        ...(!isTrue && { severity: "Error" as const }),
        reason: ready.reason ?? (isTrue ? "ClusterReady" : "ClusterUnhealthy"),
        message:
          ready.message ??
          (isTrue ? "the cluster responds and reports that it is ready" : "cluster east: connection refused"),
        lastTransitionTime: "2026-01-01T00:00:00Z",
        observedGeneration: generation,
      },
    ],
    lastHeartbeat: "2026-01-01T00:00:00Z",
    ...rest,
  };
}

/** The outcome of a successful probe of a cluster that does not say which one it is, unless `uid` is given. */
export function aHealthyOutcome({ uid, ...rest }: Partial<Healthy> & Readonly<{ uid?: string }> = {}): Healthy {
  const unreadable = { kind: "unreadable", message: "the credentials may not read the namespace kube-system" } as const;
  return { kind: "healthy", identity: uid === undefined ? unreadable : { kind: "known", uid }, ...rest };
}
