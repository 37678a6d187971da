import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import type { ClusterDecision, PlacementStatus } from "../../lib/placement/explain.ts";
import { type ClusterFacts, clusterFacts, type RegistrationInput } from "../../lib/placement/observed.ts";

/** The current time of these tests. */
export const now = Date.parse("2030-01-01T12:00:00Z");
/** A timestamp some seconds before `now`. */
export const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

type ClusterOptions = Readonly<{
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  deleting?: boolean;
  ready?: "True" | "False" | "Unknown" | "never";
  since?: string;
  spec?: Partial<RegistrationInput["spec"]>;
  status?: Partial<NonNullable<RegistrationInput["status"]>>;
}>;

/** A registration that passes all filters, except for the given options. */
export function aRegistration(name: string, options: ClusterOptions = {}): RegistrationInput {
  const {
    labels = {},
    annotations,
    deleting = false,
    ready = "True",
    since = ago(3600),
    spec = {},
    status = {},
  } = options;
  return {
    metadata: {
      name,
      labels,
      ...(annotations === undefined ? {} : { annotations }),
      creationTimestamp: ago(7200),
      ...(deleting ? { deletionTimestamp: ago(1) } : {}),
    },
    spec: { location: "somewhere", capabilities: [{ type: "compute" }], ...spec },
    status: {
      ...(ready === "never"
        ? {}
        : {
            conditions: [
              {
                type: "Ready",
                status: ready,
                reason: ready === "True" ? "ClusterReady" : "ClusterUnhealthy",
                message: "",
                lastTransitionTime: since,
              },
            ],
          }),
      apis: [{ groupVersion: "apps/v1", kinds: ["Deployment"] }],
      allocatable: { cpu: "8", memory: "32Gi" },
      capabilitiesDetected: ago(60),
      ...status,
    },
  };
}

/** The facts of a cluster that passes all filters, except for the given options. */
export const aCluster = (name: string, options: ClusterOptions = {}): ClusterFacts =>
  clusterFacts(aRegistration(name, options));

/** A placement with a spec and optionally with selected clusters. */
export function aPlacement(
  spec: WorkloadPlacement["spec"] = {},
  {
    selected,
    annotations,
    status,
  }: Readonly<{
    selected?: readonly string[];
    annotations?: Record<string, string>;
    status?: PlacementStatus;
  }> = {},
): WorkloadPlacement {
  const before = status ?? (selected === undefined ? undefined : { selectedClusters: selected });
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadPlacement",
    metadata: { name: "web", generation: 1, resourceVersion: "1", ...(annotations ? { annotations } : {}) },
    spec,
    ...(before === undefined ? {} : { status: before }),
  };
}

/** The decision for one cluster in a status. */
export function decisionFor(status: PlacementStatus, cluster: string): ClusterDecision | undefined {
  return status.decisions?.find((decision) => decision.cluster === cluster);
}
