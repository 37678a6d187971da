import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey } from "../model/key.ts";
import type { KubeObject } from "../model/kube-object.ts";
import { checkAgain, type Next, settled } from "../model/next.ts";
import { decideConditions, upsyncConditions } from "./conditions.ts";
import { headcount } from "./headcount.ts";
import { isReady, optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./tools.ts";

/** Sees to what a registration asks for; done under its key, after its health. */
export type AttendRegistration = (key: ObjectKey, signal: AbortSignal) => Promise<Next>;

/**
 * Creates what has clusters watched for what is born there, and says in their conditions what came of it. Whatever should be
 * in the workspace and is not, or is there and seems to have gone, is looked at again each time: this comes with every
 * heartbeat, so that anything missed heals.
 */
export function upsyncAttendance(tools: UpsyncTools): AttendRegistration {
  const { hub, births, notes, workloads, settings, clock, isListed, wake } = tools;
  const ignore = (key: ObjectKey): void => {
    const known = [...(births.all(key)?.keys() ?? [])];
    births.unwant(key);
    notes.forget(key);
    // How they are there is not known any more.
    wake(known.map((name) => ({ cluster: key.cluster, kind: "Workload", name })));
  };
  return async (key, signal) => {
    const registration = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    if (registration === undefined || registration.metadata.deletionTimestamp !== undefined) {
      ignore(key);
      return settled;
    }
    const isAsked = (registration.spec.upsync ?? []).length > 0;
    const before = registration.status?.conditions ?? [];
    const wasAsked = before.some(({ type }) => upsyncConditions.some((each) => each === type));
    if (!isAsked && !wasAsked) {
      ignore(key);
      return settled;
    }
    if (!isListed(key.cluster)) return checkAgain(settings.retrySeconds);
    const { optIns, problems } = optInsOf(registration, workloads.types);
    if (isReady(registration) && optIns.length > 0) births.want(key, optIns);
    else ignore(key);
    const survey = optIns.length === 0 ? nobody : await headcount(tools, { key, registration, optIns }, signal);
    const known = births.all(key);
    for (const name of notes.refused(key).keys()) {
      // What has gone is refused no more.
      if (known !== undefined && !known.has(name)) notes.refuse(key, name, undefined);
    }
    if (survey !== undefined) {
      const due = [...survey.lacking, ...(survey.held === undefined ? survey.vanished : [])];
      const names = due.filter((name) => notes.isRetried(key, name, settings.refusedSeconds));
      wake(names.map((name) => ({ cluster: key.cluster, kind: "Workload", name })));
    }
    const conditions = decideConditions({
      before,
      isAsked,
      problems,
      survey,
      refused: notes.refused(key),
      now: new Date(clock.now()).toISOString().replace(/\.\d+Z$/, "Z"),
    });
    if (conditions !== before) {
      await hub.writeStatus(key, registration, { ...registration.status, conditions }, signal);
    }
    // Everything there is just being listed.
    return survey === undefined && isReady(registration) ? checkAgain(settings.retrySeconds) : settled;
  };
}

/** What there is to say of a cluster of which nothing is to be made known. */
const nobody = { taken: [], homeless: [], lacking: [], vanished: [], held: undefined };
