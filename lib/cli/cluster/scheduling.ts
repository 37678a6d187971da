import type { KubeClient } from "@tmc/kube/client.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { ClusterRegistration } from "../../api/cluster-registration.ts";
import { drainTaint } from "../../sync/targets/target-cluster.ts";
import { resourceTypes } from "../workspace.ts";

type Spec = ClusterRegistration["spec"];
/** The part of a registration's spec that controls scheduling and eviction. */
export type Scheduling = Readonly<Pick<Spec, "unschedulable" | "taints">>;

/** Marks the cluster as unschedulable. */
export function cordonedScheduling({ taints }: Spec): Scheduling {
  return { unschedulable: true, ...(taints === undefined ? {} : { taints }) };
}

/** Marks the cluster as schedulable and removes the drain taint; other taints are kept. */
export function uncordonedScheduling({ taints = [] }: Spec): Scheduling {
  const others = taints.filter(({ key }) => key !== drainTaint);
  return others.length === 0 ? {} : { taints: others };
}

/** Marks the cluster as unschedulable and adds the drain taint; an existing drain taint keeps its time. */
export function drainedScheduling(spec: Spec, nowMs: number): Scheduling {
  const { taints = [] } = spec;
  if (isDrained(spec)) return cordonedScheduling(spec);
  const timeAdded = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const others = taints.filter(({ key }) => key !== drainTaint);
  return { unschedulable: true, taints: [...others, { key: drainTaint, effect: "NoExecute", timeAdded }] };
}

/** Whether the cluster has the drain taint. */
export function isDrained({ taints = [] }: Spec): boolean {
  return taints.some(({ key, effect }) => key === drainTaint && effect === "NoExecute");
}

/** Attempts to write a registration that others change at the same time; more conflicts than this are not a coincidence. */
const maxAttempts = 10;

/**
 * Changes the scheduling of a cluster; returns whether anything was written. The write carries the resourceVersion that the
 * decision is based on; after a conflict the registration is read and decided again, so concurrent changes are kept.
 */
export async function writeScheduling(
  client: KubeClient,
  name: string,
  decide: (spec: Spec) => Scheduling,
): Promise<boolean> {
  const address = { type: resourceTypes.registrations, name };
  for (let tries = 1; ; tries += 1) {
    const { metadata, spec } = await client.get<ClusterRegistration>(address);
    const desired = decide(spec);
    if (isSame(desired, spec)) return false;
    const { unschedulable, taints } = desired;
    const { resourceVersion } = metadata;
    const body = {
      metadata: { resourceVersion },
      spec: { unschedulable: unschedulable ?? null, taints: taints ?? null },
    };
    try {
      await client.patch(address, { type: "merge", body }, { fieldManager: "tmc-cli" });
      return true;
    } catch (error) {
      if (faultOf(error) !== "conflict" || tries >= maxAttempts) throw error;
    }
  }
}

function isSame(one: Scheduling, other: Scheduling): boolean {
  const text = ({ unschedulable = false, taints = [] }: Scheduling): string => JSON.stringify([unschedulable, taints]);
  return text(one) === text(other);
}
