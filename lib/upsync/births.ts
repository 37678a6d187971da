import type { ObjectKey } from "../model/key.ts";
import type { KubeObject } from "../model/kube-object.ts";
import type { CopyAddress } from "../sync/fleet.ts";
import type { Birth } from "./decide.ts";
import type { OptIn } from "./opt-in.ts";

/** What is born on clusters. Whoever gives it watches the clusters, and tells of every change there. */
export interface Births {
  /** Watches these types on a cluster, and no others; to say it again changes nothing. */
  want(registration: ObjectKey, optIns: readonly OptIn[]): void;
  /** Watches a cluster no more: it has gone, or is not heard from, or opts in to nothing. */
  unwant(registration: ObjectKey): void;
  /** What a watch knows; undefined where that is nothing: not watched, not listed, in doubt, down for too long. */
  peek(address: CopyAddress): Extract<Birth, { kind: "born" | "absent" }> | undefined;
  /** The same, asked of the cluster itself. Fails with a fault when that does not answer, or not about this very object. */
  ask(address: CopyAddress, optIn: OptIn, signal: AbortSignal): Promise<Birth>;
  /** The whole object as the cluster has it now; undefined when the cluster says that it is not there. */
  read(address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /**
   * The uids of all that was born on a cluster, by the names of their keys as workloads. What a list did not show is among it
   * until the cluster was asked about it. Undefined unless everything there is watched and has been listed.
   */
  all(registration: ObjectKey): ReadonlyMap<string, string> | undefined;
}
