import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { unlessAborted } from "@tmc/kube/deadline.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey } from "../model/key.ts";
import { readIdentity } from "../registration/identity.ts";

export type IdentityQuestion = Readonly<{ key: ObjectKey; registration: ClusterRegistration }>;

/** Confirms, before a client is used, that it leads to the cluster whose identity the registration has stored. */
export interface IdentityChecks {
  /** Throws "unreachable" unless the client leads to the cluster in the status of the registration. */
  confirm(client: KubeClient, question: IdentityQuestion, signal: AbortSignal): Promise<void>;
  /** Reports a failed request of a client: where no server answered, another cluster may answer next. */
  failed(client: KubeClient, error: unknown): void;
}

/** The same as for any request of sync: a cluster that hangs must not use up the time of a reconcile. */
const timeoutMs = 4_000;
/** After a timeout, the cluster is not asked again for so long, as in sessions. */
const backoffMs = 5_000;

/** An answer, and until when it may be used. The uid is undefined if TMC may not read it. */
type Answer = { uid: Promise<string | undefined>; untilMs: number; readonly signal: AbortSignal };

/**
 * Creates the checks. A client costs one request when it is first used, and one after each failed connection. A registration
 * without a stored identity is not checked: its cluster has not been probed yet, or does not let TMC read it.
 */
export function createIdentityChecks(clock: Pick<Clock, "monotonicMs">): IdentityChecks {
  const answers = new WeakMap<KubeClient, Answer>();
  /** Asks on behalf of one caller; others wait for the same answer. */
  const ask = (client: KubeClient, signal: AbortSignal): Promise<string | undefined> => {
    const uid = readIdentity(client, { signal, timeoutMs }).then((identity) =>
      identity.kind === "known" ? identity.uid : undefined,
    );
    const answer: Answer = { uid, untilMs: Number.POSITIVE_INFINITY, signal };
    answers.set(client, answer);
    // Callers get the error.
    uid.catch((error: unknown) => {
      answer.untilMs = isTimeout(error) ? clock.monotonicMs() + backoffMs : Number.NEGATIVE_INFINITY;
    });
    return uid;
  };
  const waitFor = async (client: KubeClient, answer: Answer, signal: AbortSignal): Promise<string | undefined> => {
    try {
      return await unlessAborted(answer.uid, signal);
    } catch (error) {
      // The caller that asked was stopped, which says nothing about the cluster.
      if (signal.aborted || !answer.signal.aborted) throw error;
      return ask(client, signal);
    }
  };
  return {
    confirm: async (client, { key, registration: { status } }, signal) => {
      const { clusterUID, observedClusterUID } = status ?? {};
      if (clusterUID === undefined) return;
      // A probe has found another cluster: it takes a probe, or a user, to end this.
      if (observedClusterUID !== undefined) throw otherCluster(key, { clusterUID, uid: observedClusterUID });
      const known = answers.get(client);
      const usable = known !== undefined && clock.monotonicMs() < known.untilMs ? known : undefined;
      const uid = await (usable === undefined ? ask(client, signal) : waitFor(client, usable, signal));
      if (uid === clusterUID) return;
      // The answer may be older than the stored identity, which a user may have accepted since.
      const latest = usable === undefined ? uid : await ask(client, signal);
      if (latest !== clusterUID) throw otherCluster(key, { clusterUID, uid: latest });
    },
    failed: (client, error) => {
      // A timeout alone does not end the confirmation: a cluster that is slow would be asked with every request.
      if (error instanceof ApiError && error.network !== undefined && !isTimeout(error)) answers.delete(client);
    },
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof ApiError && error.network === "timeout";
}

/** Nothing that this server answers says anything about the registered cluster: callers treat it as unreachable. */
function otherCluster(
  { name }: ObjectKey,
  { clusterUID, uid }: Readonly<{ clusterUID: string; uid: string | undefined }>,
): ControllerError {
  const found = uid === undefined ? "TMC may not read the uid of the cluster that answers" : `uid ${uid} answers`;
  return new ControllerError(
    "unreachable",
    `cluster ${name}: the registered cluster has uid ${clusterUID}, but ${found}`,
  );
}
