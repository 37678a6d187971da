import type { Texts } from "../../model/json.ts";
import type { WorkloadAddress } from "../../model/key.ts";
import type { Observed } from "../observed.ts";
import type { UpsyncOrigin } from "../ownership/upsync-origin.ts";
import type { Copy } from "../sync-objects.ts";
import type { CopyOutcome } from "../targets/apply.ts";
import { copyHealth } from "./health.ts";

/** The cluster that has the original of an upsynced workload. It gets no copy. */
export type UpsyncOriginState = Readonly<{
  targetCluster: string;
  /** The original, as the cluster has it; undefined when it could not be read. */
  copy: Copy | undefined;
}>;

/** Reads the originals of upsynced workloads. */
export interface UpsyncOrigins {
  /** Reads the original of an upstream object with these labels. Undefined when upsync no longer covers it. */
  read(
    origin: UpsyncOrigin,
    upstream: Readonly<{ address: WorkloadAddress; labels: Texts | undefined }>,
    signal: AbortSignal,
  ): Promise<UpsyncOriginState | undefined>;
}

/** The state of the original in the form of a copy's outcome; TMC never writes it. */
export function upsyncOriginOutcomes({
  upsyncOrigin,
  type,
  workload,
}: Pick<Observed, "upsyncOrigin" | "type" | "workload">): readonly CopyOutcome[] {
  if (upsyncOrigin === undefined) return [];
  const { targetCluster: name, copy } = upsyncOrigin;
  if (copy === undefined) {
    const message = "the cluster that has the original object cannot be read";
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
