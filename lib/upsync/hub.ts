import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { WorkloadKey } from "../model/key.ts";
import type { Workload } from "../sync/sync-objects.ts";

/** What only upsync does to workloads in the hub: it makes, rewrites and removes them. */
export interface BornHub {
  /** Fails with the fault "exists" when there is one by now. */
  createWorkload(key: WorkloadKey, object: KubeObject, signal: AbortSignal): Promise<Workload>;
  /** Has labels, annotations and everything but status of what was `seen` be what is `wanted`. */
  writeWorkload(key: WorkloadKey, seen: Workload, wanted: KubeObject, signal: AbortSignal): Promise<Workload>;
  /** Deletes what was `seen`, and nothing that is another by now. */
  removeWorkload(key: WorkloadKey, seen: Workload, signal: AbortSignal): Promise<void>;
}
