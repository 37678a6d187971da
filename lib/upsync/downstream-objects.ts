import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ObjectKey } from "../model/key.ts";
import type { CopyAddress } from "../sync/downstream.ts";
import type { Birth } from "./decide.ts";
import type { OptIn } from "./opt-in.ts";

/** What is born on clusters. Some watch the clusters, and tell of every change there; others only ever ask them. */
export interface Births {
  /** Whether whatever is born or changes there is told: then nobody asks for what is not known yet. */
  readonly isTelling: boolean;
  /** Watches these types on a cluster, and no others; to say it again changes nothing. Who only asks does nothing. */
  want(registration: ObjectKey, optIns: readonly OptIn[]): void;
  /** Watches a cluster no more: it has gone, or is not heard from, or opts in to nothing. */
  unwant(registration: ObjectKey): void;
  /** What is known without asking; undefined where that is nothing: not watched, not listed, in doubt, down for too long. */
  peek(address: CopyAddress): Extract<Birth, { kind: "born" | "absent" }> | undefined;
  /** The same, asked of the cluster itself. Fails with a fault when that does not answer, or not about this very object. */
  ask(address: CopyAddress, optIn: OptIn, signal: AbortSignal): Promise<Birth>;
  /** The whole object as the cluster has it now; undefined when the cluster says that it is not there. */
  read(address: CopyAddress, signal: AbortSignal): Promise<KubeObject | undefined>;
  /**
   * The uids of all that was born on a cluster, by the names of their keys as workloads: all or nothing. What the list of a
   * watch did not show is among it until the cluster was asked about it. Undefined while a watch does not know everything;
   * fails with a fault when a cluster that has to be asked does not answer.
   */
  all(
    registration: ObjectKey,
    optIns: readonly OptIn[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string> | undefined>;
  /** Has the next one who wants to know all ask anew, where an answer is kept for a while. */
  renew(registration: ObjectKey): void;
}
