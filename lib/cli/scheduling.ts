import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { drainTaint } from "../sync/targets/sync-cluster.ts";
import { resourceTypes } from "./workspace.ts";

type Spec = ClusterRegistration["spec"];
/** The part of a registration's spec that says whether work may come and stay. */
export type Scheduling = Readonly<Pick<Spec, "unschedulable" | "taints">>;

/** Lets no new work in. */
export function cordoned({ taints }: Spec): Scheduling {
  return { unschedulable: true, ...(taints === undefined ? {} : { taints }) };
}

/** Lets work in again, and sends none away; taints that are not ours stay. */
export function uncordoned({ taints = [] }: Spec): Scheduling {
  const others = taints.filter(({ key }) => key !== drainTaint);
  return others.length === 0 ? {} : { taints: others };
}

/** Lets no new work in and sends away what is there; one that is drained already keeps the time since when it is. */
export function drained(spec: Spec, nowMs: number): Scheduling {
  const { taints = [] } = spec;
  if (isDrained(spec)) return cordoned(spec);
  const timeAdded = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const others = taints.filter(({ key }) => key !== drainTaint);
  return { unschedulable: true, taints: [...others, { key: drainTaint, effect: "NoExecute", timeAdded }] };
}

/** Whether somebody sends a cluster's work away. */
export function isDrained({ taints = [] }: Spec): boolean {
  return taints.some(({ key, effect }) => key === drainTaint && effect === "NoExecute");
}

/** Somebody else may be changing the registration too; more often than this is not bad luck. */
const mostTries = 10;

/**
 * Changes whether work may come to a cluster and stay. Decided on what is there: whoever changed it meanwhile is not
 * overwritten, the change is decided again on theirs. Answers whether anything was written.
 */
export async function writeScheduling(
  client: KubeClient,
  name: string,
  decide: (spec: Spec) => Scheduling,
): Promise<boolean> {
  const address = { type: resourceTypes.clusters, name };
  for (let tries = 1; ; tries += 1) {
    const { metadata, spec } = await client.get<ClusterRegistration>(address);
    const wanted = decide(spec);
    if (isSame(wanted, spec)) return false;
    const { unschedulable, taints } = wanted;
    const { resourceVersion } = metadata;
    const body = {
      metadata: { resourceVersion },
      spec: { unschedulable: unschedulable ?? null, taints: taints ?? null },
    };
    try {
      await client.patch(address, { type: "merge", body }, { fieldManager: "tmc-cli" });
      return true;
    } catch (error) {
      if (faultOf(error) !== "conflict" || tries >= mostTries) throw error;
    }
  }
}

function isSame(one: Scheduling, other: Scheduling): boolean {
  const text = ({ unschedulable = false, taints = [] }: Scheduling): string => JSON.stringify([unschedulable, taints]);
  return text(one) === text(other);
}
