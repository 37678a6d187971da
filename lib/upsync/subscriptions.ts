import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import { mayPass } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey, WorkKey } from "../model/key.ts";
import { done, type Next, requeueAfter } from "../model/next.ts";
import { formatTimestamp } from "../model/timestamp.ts";
import type { WorkItem } from "../model/work-item.ts";
import { decideConditions, isSaid, upsyncConditions } from "./conditions.ts";
import { isRetried, refusedIn, tidied } from "./deletion-log.ts";
import { type Inventory, type Subject, takeInventory } from "./inventory.ts";

import { isReady, optInsOf, type Problem } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** Sees to what a registration asks for; done under its key, after its health. */
export type ReconcileUpsync = (item: WorkItem<ObjectKey>, signal: AbortSignal) => Promise<Next>;

/**
 * Creates what looks at clusters for what is born there, and says in their conditions what came of it. Whatever should be
 * in the workspace and is not, or is there and seems to have gone, is looked at again each time, so that anything missed heals.
 *
 * Where clusters are watched that comes with every heartbeat. Where they have to be asked it does not: an idle cluster
 * costs a probe each time, and no list. It is asked when its registration or its health changes, and with every resync.
 */
export function upsyncRegistrationReconciler(tools: UpsyncTools): ReconcileUpsync {
  const { hub, source, workloads, settings, clock, isListed, enqueue } = tools;
  const ignore = async (key: ObjectKey, signal: AbortSignal): Promise<void> => {
    if (!source.isWatching) return;
    const known = [...((await source.listUids(key, [], signal))?.keys() ?? [])];
    source.unsubscribe(key);
    // How they are there is not known any more.
    await enqueue(known.map((name) => workloadNamed(key, name)));
  };
  return async ({ key, reason }, signal) => {
    if (reason === "heartbeat" && !source.isWatching) return done;
    const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    if (registration === undefined || registration.metadata.deletionTimestamp !== undefined) {
      await ignore(key, signal);
      return done;
    }
    const isAsked = (registration.spec.upsync ?? []).length > 0;
    const before = registration.status?.conditions ?? [];
    const wasAsked = before.some(({ type }) => upsyncConditions.some((each) => each === type));
    if (!isAsked && !wasAsked) {
      await ignore(key, signal);
      return done;
    }
    if (!isListed(key.logicalCluster)) return requeueAfter(settings.retrySeconds);
    const { optIns, problems } = optInsOf(registration, workloads.types);
    if (isReady(registration) && optIns.length > 0) source.subscribe(key, optIns);
    else await ignore(key, signal);
    const { survey, problem, isDue } = await look(tools, { key, registration, optIns }, signal);
    const nowMs = clock.now();
    const present = registration.status ?? {};
    // What has gone is refused no more.
    const born = survey && new Set(survey.born);
    const status = tidied(present, (name) => born === undefined || born.has(name), nowMs);
    const conditions = decideConditions({
      before,
      isAsked,
      problems: problem === undefined ? problems : [...problems, problem],
      survey,
      refused: refusedIn(status),
      now: formatTimestamp(nowMs),
    });
    if (conditions !== before || status !== present) {
      await hub.writeStatus(key, registration, { ...status, conditions }, signal);
    }
    if (survey === undefined) return isDue ? requeueAfter(settings.retrySeconds) : done;
    const due = [...survey.lacking, ...(survey.held === undefined ? survey.vanished : [])];
    const when = { nowMs, afterSeconds: settings.refusedSeconds };
    const names = due.filter((name) => isRetried(registration.status, name, when));
    // After the status: whoever ends one of them sees there that nobody has to be told.
    await enqueue(names.map((name) => workloadNamed(key, name)));
    // What goes does not tell of itself one by one: it is looked at here until it has gone.
    return isSaid(conditions, "DeletionsConfirmed") ? requeueAfter(releaseSeconds(survey.vanished.length)) : done;
  };
}

/** Some ten a second go; few are looked at soon, and for many nobody is asked again and again. */
function releaseSeconds(left: number): number {
  return Math.min(30, Math.max(2, Math.ceil(left / 10)));
}

type Look = Readonly<{
  /** Undefined where not everything there is known. */
  survey: Inventory | undefined;
  /** Why the cluster does not say what it has. */
  problem?: Problem | undefined;
  /** Whether it is to be looked at again soon. */
  isDue: boolean;
}>;

async function look(tools: UpsyncTools, subject: Subject, signal: AbortSignal): Promise<Look> {
  if (subject.optIns.length === 0) return { survey: nobody, isDue: false };
  // Nobody is asked who is not heard from. It is looked at when it is back.
  if (!isReady(subject.registration)) return { survey: undefined, isDue: false };
  try {
    const survey = await takeInventory(tools, subject, signal);
    // Everything there is just being listed.
    return { survey, isDue: survey === undefined };
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    if (mayPass(fault)) return { survey: undefined, isDue: true };
    const message = oneLine(error instanceof Error ? error.message : fault);
    return { survey: undefined, problem: { reason: "ListForbidden", message }, isDue: false };
  }
}

const workloadNamed = ({ logicalCluster }: ObjectKey, name: string): WorkKey => ({
  logicalCluster,
  kind: "Workload",
  name,
});

/** What there is to say of a cluster of which nothing is to be made known. */
const nobody: Inventory = {
  born: [],
  taken: [],
  homeless: [],
  lacking: [],
  vanished: [],
  held: undefined,
  isConfirmed: false,
};
