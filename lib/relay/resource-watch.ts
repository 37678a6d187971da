import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import type { TypeId } from "../api/workload-kinds.ts";
import { isMetadataOnly, type WorkloadLane } from "../upstream/watched-resources.ts";
import { type Follower, type Following, type FollowOptions, follow } from "./follow.ts";
import { createListOrder, type ListOrder } from "./list-priority.ts";
import type { FedSecretWatch } from "./secret-watch.ts";

export type FollowLaneOptions = Omit<FollowOptions, "client" | "type" | "what" | "mayBeAbsent"> &
  Readonly<{
    /** Below one logical cluster, or below all of them. */
    client: Pick<KubeClient, "list" | "listAll" | "watch" | "metadata">;
    /** Takes from an object what nobody keeps. */
    slim: (object: KubeObject) => KubeObject;
    /** Is told of secrets, which registrations refer to as well: they are watched once. */
    secrets: FedSecretWatch;
    /** Records come last: what is new has none, and need not wait for thousands of them. */
    order: ListOrder<TypeId>;
  }>;

/** The order in which these are listed. */
export function orderOfLanes(lanes: Iterable<WorkloadLane>, clock: Clock): ListOrder<TypeId> {
  const first = [...lanes].filter(({ role }) => role !== "record").map(({ id }) => id);
  return createListOrder({ first, clock });
}

/** Follows one of the types that are looked at for the sake of workloads; of those that come along no more than the metadata. */
export function followLane(
  lane: WorkloadLane,
  { client, slim, secrets, order, ...watched }: FollowLaneOptions,
  follower: Follower,
): Following {
  const giveWay = lane.role === "record" ? order.giveWay : undefined;
  const source = pageByPage(isMetadataOnly(lane) ? client.metadata : client, slim, giveWay);
  // Our own kind is part of what makes a tenant; any other may be missing.
  const mayBeAbsent = lane.role !== "record";
  const fed = lane.kind === "Secret" ? [secrets.feed] : [];
  return follow(
    { ...watched, client: source, type: lane.type, what: lane.id, mayBeAbsent },
    {
      ...follower,
      listed: (objects, list) => {
        for (const each of fed) each.listed(objects, list);
        follower.listed(objects, list);
        order.arrived(lane.id);
      },
      absent: (list) => {
        follower.absent?.(list);
        order.arrived(lane.id);
      },
      changed: (object) => {
        watched.listener.workloadEvent?.("modified");
        for (const each of fed) each.changed(object);
        follower.changed(object);
      },
      deleted: (object) => {
        watched.listener.workloadEvent?.("deleted");
        for (const each of fed) each.deleted(object);
        follower.deleted(object);
      },
    },
  );
}
