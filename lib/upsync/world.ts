import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Hub } from "../model/hub.ts";
import type { ObjectKey, WorkKey, WorkloadKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { Workload } from "../sync/sync-objects.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { UpsyncState } from "./decide.ts";
import type { DeletionLog } from "./deletion-log-writer.ts";
import type { OptIn } from "./opt-in.ts";

/** What upsync works with. */
export type UpsyncTools = Readonly<{
  /** Registrations. */
  hub: Pick<Hub, "read" | "list" | "writeStatus">;
  workloads: Pick<WorkloadHub, "read" | "list" | "types" | "namespaceLabels" | "recordEvent">;
  upsyncHub: UpsyncHub;
  source: UpsyncSource;
  deletionLog: DeletionLog;
  clock: Pick<Clock, "now">;
  settings: Pick<SyncSettings, "brake" | "retrySeconds" | "refusedSeconds">;
  /** Whether all of a logical cluster has been seen: until then nothing is decided about it. Who reads fresh has seen it. */
  isListed: (cluster: string) => boolean;
  /** Has keys looked at; fails when nobody can be told. */
  enqueue: (keys: readonly WorkKey[]) => Promise<void>;
  /** Hears of every write to a workspace, for counting. */
  onUpsync?: ((action: "created" | "changed" | "removed") => void) | undefined;
}>;

/** What is born on clusters. Some watch the clusters, and tell of every change there; others only ever ask them. */
export interface UpsyncSource {
  /** Whether whatever is born or changes there is told: then nobody asks for what is not known yet. */
  readonly isWatching: boolean;
  /** Watches these types on a cluster, and no others; to say it again changes nothing. Who only asks does nothing. */
  subscribe(registration: ObjectKey, optIns: readonly OptIn[]): void;
  /** Watches a cluster no more: it has gone, or is not heard from, or opts in to nothing. */
  unsubscribe(registration: ObjectKey): void;
  /** What is known without asking; undefined where that is nothing: not watched, not listed, in doubt, down for too long. */
  cached(address: CopyAddress): Extract<UpsyncState, { kind: "born" | "absent" }> | undefined;
  /** The same, asked of the cluster itself. Fails with a fault when that does not answer, or not about this very object. */
  readUncached(address: CopyAddress, optIn: OptIn, signal: AbortSignal): Promise<UpsyncState>;
  /** The whole object as the cluster has it now; undefined when the cluster says that it is not there. */
  readObject(address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /**
   * The uids of all that was born on a cluster, by the names of their keys as workloads: all or nothing. What the list of a
   * watch did not show is among it until the cluster was asked about it. Undefined while a watch does not know everything;
   * fails with a fault when a cluster that has to be asked does not answer.
   */
  listUids(
    registration: ObjectKey,
    optIns: readonly OptIn[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | undefined>;
  /** Has the next one who wants to know all ask anew, where an answer is kept for a while. */
  invalidate(registration: ObjectKey): void;
}

/** What only upsync does to workloads in the hub: it makes, rewrites and removes them. */
export interface UpsyncHub {
  /** Fails with the fault "exists" when there is one by now. */
  createWorkload(key: WorkloadKey, object: KubeObject, signal: AbortSignal): Promise<Workload>;
  /** Has labels, annotations and everything but status of what was `seen` be what is `wanted`. */
  writeWorkload(key: WorkloadKey, seen: Workload, wanted: KubeObject, signal: AbortSignal): Promise<Workload>;
  /** Deletes what was `seen`, and nothing that is another by now. */
  removeWorkload(key: WorkloadKey, seen: Workload, signal: AbortSignal): Promise<void>;
}
