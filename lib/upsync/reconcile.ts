import { faultOf, oneLine } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { type WorkloadKey, workloadAddress } from "../model/key.ts";
import { done, earliest, requeueAfter } from "../model/next.ts";
import type { Work } from "../model/work-item.ts";
import { registrationKey } from "../sync/observed.ts";
import type { UpsyncOrigin } from "../sync/ownership/upsync-origin.ts";
import type { Workload } from "../sync/sync-objects.ts";
import { isSaid } from "./conditions.ts";
import { type Action, type Blocker, decide, type Plan } from "./decide.ts";
import { logDeletion, logRejection } from "./deletion-log-writer.ts";
import {
  hashOfNormalized,
  isUpsyncCandidate,
  normalizeDownstream,
  normalizeUpstream,
  upstreamObject,
} from "./normalize.ts";
import { type Name, type Observed, observe } from "./observe.ts";
import { isOptedIn } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/**
 * Creates the work on the names of workloads: what was born under a name on a cluster that opts in is in the workspace, as
 * that cluster says, for as long as the cluster has it.
 *
 * It is done under the key of the workload, before that is synced: one at a time for a name, whichever clusters have it.
 */
export function upsyncReconciler(tools: UpsyncTools): Work<WorkloadKey> {
  return async ({ key }, signal) => {
    const address = workloadAddress(key);
    const type = tools.workloads.types.find(
      (each) =>
        address !== undefined &&
        each.type.plural === address.type.plural &&
        each.type.group === address.type.group &&
        each.type.version === address.type.version,
    );
    if (address === undefined || type?.isOffered !== true || !tools.isListed(key.logicalCluster)) return done;
    const name: Name = { key, address, type };
    const registrations = await tools.hub.list<ClusterRegistration & KubeObject>(
      "ClusterRegistration",
      key.logicalCluster,
      signal,
    );
    const scene = await observe(tools, name, registrations, signal);
    if (scene === undefined) {
      tools.deletionLog.hinder(key, "");
      return done;
    }
    const { act, hindrances, isPending } = await settleAct(tools, scene, signal);
    const isDone = await perform(tools, scene, act, signal);
    await report(tools, scene, hindrances);
    return !isDone || isPending || scene.isUnheard ? requeueAfter(tools.settings.retrySeconds) : done;
  };
}

/** Decides what is to be done; an end is noted down before, where every process sees it, or is held. */
async function settleAct(
  tools: UpsyncTools,
  scene: Observed,
  signal: AbortSignal,
): Promise<Plan & Readonly<{ isPending: boolean }>> {
  const plan = decide(scene.facts);
  const hold = plan.act.do === "remove" ? await logDeletion(tools, scene, plan.act.registration, signal) : undefined;
  if (hold === undefined) return { ...plan, isPending: false };
  return { ...decide({ ...scene.facts, held: hold.words }), isPending: hold.mayPass };
}

/** Does what was decided; answers whether it is done, or has to be tried again. */
async function perform(tools: UpsyncTools, scene: Observed, act: Action, signal: AbortSignal): Promise<boolean> {
  const { name, upstream, facts } = scene;
  if (act.do === "nothing") {
    const home = facts.claims.find(({ registration }) => registration === facts.upstream?.birthplace?.registration);
    if (home?.birth.kind !== "born") return true;
    await logRejection(tools, scene, { registration: home.registration, message: undefined }, signal);
    return true;
  }
  if (act.do === "remove") {
    if (upstream === undefined) return true;
    await tools.upsyncHub.removeWorkload(name.key, upstream, signal);
    tools.deletionLog.agree(name.key, undefined);
    tools.onUpsync?.("removed");
    const conditions = scene.subjects.get(act.registration)?.registration.status?.conditions;
    // One that says that they are going looks by itself; nothing else tells one that still says that they are held.
    if (isSaid(conditions, "DeletionsHeld")) {
      await tools.enqueue([registrationKey(name.key.logicalCluster, act.registration)]);
    }
    return true;
  }
  const { registration } = act;
  const born = await readBorn(tools, scene, registration, signal);
  if (born === "unheard") return false;
  // Gone, or not meant any more, since it was looked at: whoever watches tells of it.
  if (born === undefined) return true;
  const message = await refusalOf(() => write(tools, { scene, born, registration }, signal), signal);
  if (message === undefined) tools.onUpsync?.(act.do === "create" ? "created" : "changed");
  await logRejection(tools, scene, { registration, message }, signal);
  return true;
}

/** Writes to the workspace; answers its words where it does not take that. */
async function refusalOf(writing: () => Promise<void>, signal: AbortSignal): Promise<string | undefined> {
  try {
    await writing();
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault !== "invalid" && fault !== "forbidden") throw error;
    return oneLine(error instanceof Error ? error.message : fault);
  }
}

/** The object as its cluster has it now, if it is still one to be made known. */
async function readBorn(
  { source }: UpsyncTools,
  { name, subjects }: Observed,
  registration: string,
  signal: AbortSignal,
): Promise<KubeObject | "unheard" | undefined> {
  const subject = subjects.get(registration);
  const optIn = subject?.optIns.find(({ type }) => type === name.type);
  if (subject === undefined || optIn === undefined) return undefined;
  try {
    const object = await source.readObject({ registration: subject.key, object: name.address }, signal);
    if (object === undefined || object.metadata.deletionTimestamp !== undefined || !isUpsyncCandidate(object))
      return undefined;
    const { namespace } = name.address;
    return isOptedIn(optIn.rules, { namespace, labels: object.metadata.labels }) ? object : undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (faultOf(error) === undefined) throw error;
    return "unheard";
  }
}

async function write(
  { upsyncHub: hub, deletionLog }: UpsyncTools,
  { scene, born, registration }: Readonly<{ scene: Observed; born: KubeObject; registration: string }>,
  signal: AbortSignal,
): Promise<void> {
  const { name, upstream } = scene;
  const { key, address, type } = name;
  const { apiVersion, kind } = type;
  const { namespace, name: ownName } = address;
  const uid = born.metadata.uid ?? "";
  const birthplace: UpsyncOrigin = {
    logicalCluster: key.logicalCluster,
    registration,
    apiVersion,
    kind,
    namespace,
    name: ownName,
    uid,
  };
  const portrait = normalizeDownstream({ ...born, apiVersion, kind });
  const wanted = upstreamObject(portrait, birthplace, upstream);
  const after: Workload =
    upstream === undefined
      ? await hub.createWorkload(key, wanted, signal)
      : await hub.writeWorkload(key, upstream, wanted, signal);
  const print = hashOfNormalized(normalizeUpstream({ ...after, apiVersion, kind }));
  deletionLog.agree(key, { born: hashOfNormalized(portrait), upstream: print });
}

/**
 * Tells what stands in the way once: people by an Event, and the registration, which says so in its conditions. One that says
 * so already is not told of each object by itself: thousands may be held at once.
 */
async function report(
  { workloads, source, deletionLog, enqueue }: UpsyncTools,
  { name, upstream, subjects }: Observed,
  all: readonly Blocker[],
): Promise<void> {
  if (!deletionLog.hinder(name.key, JSON.stringify(all))) return;
  const untold = all.filter(({ registration, reason }) => {
    const conditions = subjects.get(registration)?.registration.status?.conditions;
    return source.isWatching || !isSaid(conditions, reason);
  });
  await enqueue(untold.map(({ registration }) => registrationKey(name.key.logicalCluster, registration)));
  if (upstream === undefined) return;
  for (const { registration, reason, message } of all) {
    if (reason !== "NameTaken") continue;
    const words = `cluster ${registration} has one of that name, which is not made known: ${message}`;
    workloads.recordEvent(name.key, upstream, { type: "Warning", reason: "UpsyncConflict", message: words });
  }
}

/** Does one thing after another with the same key, and comes back as soon as either wants to. */
export function inTurn(first: Work<WorkloadKey>, then: Work<WorkloadKey>): Work<WorkloadKey> {
  return async (item, signal) => {
    const next = await first(item, signal);
    return earliest(next, await then(item, signal));
  };
}
