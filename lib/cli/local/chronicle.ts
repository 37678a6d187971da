import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { formatKey } from "../../model/key.ts";
import type { ObjectCache } from "../../upstream/object-cache.ts";
import { clusterNews, type News, placementNews } from "./news.ts";

/** What has happened lately, newest last. */
export interface Chronicle {
  readonly news: readonly News[];
  /** Notes something that no object tells. */
  note(news: Omit<News, "atMs">): void;
  stop(): void;
}

const longest = 200;

/** Follows the objects of a cache and keeps what there is to tell about them. */
export function createChronicle(
  cache: Pick<ObjectCache, "onChange">,
  clock: Clock,
  onNews: (news: News) => void = () => {},
): Chronicle {
  const seen = new Map<string, KubeObject>();
  const news: News[] = [];
  const note = (told: Omit<News, "atMs">): void => {
    const entry: News = { atMs: clock.now(), ...told };
    news.push(entry);
    if (news.length > longest) news.shift();
    onNews(entry);
  };
  const stop = cache.onChange(({ key, object }) => {
    const id = formatKey(key);
    const before = seen.get(id);
    if (object === undefined) seen.delete(id);
    else seen.set(id, object);
    // The cache holds what the server serves of each kind; the key says which kind it is.
    const told =
      key.kind === "ClusterRegistration"
        ? clusterNews(key.name, before as ClusterRegistration | undefined, object as ClusterRegistration | undefined)
        : placementNews(key.name, before as WorkloadPlacement | undefined, object as WorkloadPlacement | undefined);
    if (told !== undefined) note(told);
  });
  return { news, note, stop };
}
