import type { TargetCluster } from "../../../lib/sync/sync-objects.ts";

type Wish = Partial<Omit<TargetCluster, "labels">> & Readonly<{ labels?: Readonly<Record<string, string>> }>;

/** A cluster that is fit for everything, but for what is said. */
export function aSyncCluster(name: string, { labels = {}, ...rest }: Wish = {}): TargetCluster {
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
