import type { WorkloadAddress } from "../../model/key.ts";
import type { Observed } from "../observed.ts";
import type { UpsyncOrigin } from "../ownership/upsync-origin.ts";
import type { Copy } from "../sync-objects.ts";
import type { Outcome } from "../targets/apply.ts";
import { copyHealth } from "./health.ts";

/** The cluster that a workload was born on. It has the original, and is given no copy. */
export type UpsyncOriginState = Readonly<{
  name: string;
  /** The original, as the cluster has it; undefined when it was not heard from. */
  copy: Copy | undefined;
}>;

/** Tells how the originals of workloads are that were born on clusters. */
export interface UpsyncOrigins {
  /** Undefined when the cluster is not asked about it any more. */
  see(birthplace: UpsyncOrigin, at: WorkloadAddress, signal: AbortSignal): Promise<UpsyncOriginState | undefined>;
}

/** What is known of the original, in the form in which it is said of copies; nothing was ever written there. */
export function upsyncOriginOutcomes({
  upsyncOrigin,
  type,
  workload,
}: Pick<Observed, "upsyncOrigin" | "type" | "workload">): readonly Outcome[] {
  if (upsyncOrigin === undefined) return [];
  const { name, copy } = upsyncOrigin;
  if (copy === undefined) {
    const message = "the cluster that it was born on is not heard from";
    return [{ record: { name, state: "Stale", reason: "ClusterNotReady", message }, copy, isCurrent: false }];
  }
  const { apiVersion, kind } = type;
  const { status, generation } = copy;
  const health = copyHealth({ apiVersion, kind, spec: workload?.spec, status, generation });
  const { state, desiredReplicas, readyReplicas, reason, message } = health;
  const isReady = state === "Ready";
  const record = {
    name,
    uid: copy.uid,
    state,
    ...(desiredReplicas === undefined ? {} : { desiredReplicas }),
    ...(readyReplicas === undefined ? {} : { readyReplicas }),
    ...(reason === undefined || isReady ? {} : { reason }),
    ...(message === undefined || isReady ? {} : { message }),
  };
  return [{ record, copy, isCurrent: true }];
}
