import { group } from "./group.ts";
import { statusStrategies } from "./workload-kinds.ts";

/** An annotation that users write. docs/reference.md lists all of them. */
export type UserAnnotation = Readonly<{
  name: string;
  /** The kinds of objects on which TMC reads it. */
  on: string;
  /** The accepted values, for the reference. */
  values: string;
  meaning: string;
}>;

/** Values of the sync annotation that stop all writes to clusters, and those that do not. */
export const syncValues = {
  disabling: ["disable", "disabled"],
  pausing: ["pause", "paused"],
  enabling: ["enable", "enabled"],
} as const;

export const jobClustersValues = ["one", "all"] as const;

const clusterList = "names of clusters, comma-separated";
const code = (values: readonly string[]): string => values.map((value) => `\`${value}\``).join(", ");

/** All annotations that users write, or that the command line writes for them. */
export const userAnnotations = {
  sync: {
    name: `${group}/sync`,
    on: "workload",
    values: code(Object.values(syncValues).flat()),
    meaning:
      "`pause` and `disable` stop all writes to clusters; the deletion of the workload still deletes its copies.",
  },
  targetClusters: {
    name: `${group}/target-clusters`,
    on: "workload",
    values: clusterList,
    meaning: "Of the clusters that the placement selects, only these get a copy.",
  },
  excludedClusters: {
    name: `${group}/exclude-clusters`,
    on: "workload",
    values: clusterList,
    meaning: "These clusters get no copy.",
  },
  jobClusters: {
    name: `${group}/job-clusters`,
    on: "Job",
    values: code(jobClustersValues),
    meaning: "`all`: the Job runs once on each selected cluster, instead of on one of them.",
  },
  statusStrategy: {
    name: `${group}/status-strategy`,
    on: "custom resource, CustomResourceDefinition",
    values: code(statusStrategies),
    meaning: "How the statuses of a custom resource are combined.",
  },
  statusSum: {
    name: `${group}/status-sum`,
    on: "CustomResourceDefinition",
    values: "names of status fields, comma-separated",
    meaning: "Status fields that are added up.",
  },
  confirmedDeletions: {
    name: `${group}/confirm-deletions`,
    on: "workload, WorkloadSync",
    values: "ids of held deletions, comma-separated",
    meaning: "Confirms deletions that the deletion guard holds. `tmc confirm` writes it.",
  },
  preferredCluster: {
    name: `${group}/preferred-cluster`,
    on: "WorkloadPlacement",
    values: clusterList,
    meaning: "Raises the score of these clusters; never rejects another one.",
  },
  avoidCluster: {
    name: `${group}/avoid-cluster`,
    on: "WorkloadPlacement",
    values: clusterList,
    meaning: "Lowers the score of these clusters; never rejects them.",
  },
  preferredLocation: {
    name: `${group}/preferred-location`,
    on: "WorkloadPlacement",
    values: "locations, comma-separated",
    meaning: "Raises the score of the clusters in these locations.",
  },
  confirmFailure: {
    name: `${group}/confirm-failure`,
    on: "ClusterRegistration",
    values: "written by `tmc confirm`",
    meaning:
      "Confirms that the cluster has failed, so that evictions are not held because of a suspected mass failure.",
  },
  confirmUpsyncDeletions: {
    name: `${group}/confirm-upsync-deletions`,
    on: "ClusterRegistration",
    values: "a number, written by `tmc confirm`",
    meaning: "Confirms that this many upsynced objects may be deleted from the workspace.",
  },
  deleteOrphans: {
    name: `${group}/delete-orphaned-copies`,
    on: "ClusterRegistration",
    values: "written by `tmc orphans --delete`",
    meaning: "Confirms that the orphaned copies of the cluster may be deleted.",
  },
  acceptIdentity: {
    name: `${group}/accept-cluster-uid`,
    on: "ClusterRegistration",
    values: "`status.observedClusterUID`",
    meaning: "Accepts another cluster under the registration. `tmc cluster accept-identity` writes it.",
  },
  reconcileRequested: {
    name: `${group}/reconcile-requested`,
    on: "all",
    values: "any new value",
    meaning: "Requests a reconcile. `tmc reconcile` writes it.",
  },
} as const satisfies Readonly<Record<string, UserAnnotation>>;

/** The reason of the condition AnnotationsValid and of its Event. */
export const invalidAnnotation = "InvalidAnnotation";

/** The type of the condition of an object with an annotation whose value TMC ignores; it exists only while it is False. */
export const annotationsValidType = "AnnotationsValid";

/** A tenant wrote the value, and the message goes into a status: only a harmless value is repeated. */
export function shownValue(value: string): string {
  return /^[A-Za-z0-9._-]{1,63}$/.test(value) ? value : "?";
}

/** Parses a comma-separated list of names. */
export function parseAnnotationNames(text: string): ReadonlySet<string> {
  const names = text.split(",").map((name) => name.trim());
  return new Set(names.filter((name) => name !== ""));
}

/** What is wrong with annotations that name clusters: names that are not registered. */
export function unregisteredErrors(
  annotations: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
  isRegistered: (cluster: string) => boolean,
): readonly string[] {
  return names.flatMap((name) => {
    const unknown = [...parseAnnotationNames(annotations?.[name] ?? "")].filter((cluster) => !isRegistered(cluster));
    if (unknown.length === 0) return [];
    return [`${name} names clusters that are not registered: ${[...new Set(unknown.map(shownValue))].join(", ")}`];
  });
}
