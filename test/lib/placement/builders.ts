import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { Decision, PlacementStatus } from "../../../lib/placement/explain.ts";
import { type ClusterFacts, clusterFacts, type Registration } from "../../../lib/placement/observed.ts";

/** The moment at which everything in these tests happens. */
export const now = Date.parse("2030-01-01T12:00:00Z");
/** A moment some seconds before it, as text. */
export const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

type ClusterWish = Readonly<{
  labels?: Record<string, string>;
  deleting?: boolean;
  ready?: "True" | "False" | "Unknown" | "never";
  since?: string;
  spec?: Partial<Registration["spec"]>;
  status?: Partial<NonNullable<Registration["status"]>>;
}>;

/** A registration that is fit for everything, but for what is said. */
export function aRegistration(name: string, wish: ClusterWish = {}): Registration {
  const { labels = {}, deleting = false, ready = "True", since = ago(3600), spec = {}, status = {} } = wish;
  return {
    metadata: {
      name,
      labels,
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

/** The facts of a cluster that is fit for everything, but for what is said. */
export const aCluster = (name: string, wish: ClusterWish = {}): ClusterFacts => clusterFacts(aRegistration(name, wish));

/** A placement with a spec, and with clusters that it has chosen before. */
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

/** What a status says about one cluster. */
export function decisionFor(status: PlacementStatus, cluster: string): Decision | undefined {
  return status.decisions?.find((decision) => decision.cluster === cluster);
}
