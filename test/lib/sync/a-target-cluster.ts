import type { TargetCluster } from "../../../lib/sync/sync-objects.ts";

type TargetClusterFields = Partial<Omit<TargetCluster, "labels">> &
  Readonly<{ labels?: Readonly<Record<string, string>> }>;

/** A cluster that is Ready and without restrictions, except for the given fields. */
export function aTargetCluster(name: string, { labels = {}, ...rest }: TargetClusterFields = {}): TargetCluster {
  return {
    name,
    location: "somewhere",
    labels: new Map(Object.entries(labels)),
    isReady: true,
    isDeleting: false,
    isDrained: false,
    lastHeartbeat: "2030-01-01T12:00:00Z",
    apis: undefined,
    milliCpu: undefined,
    ...rest,
  };
}
