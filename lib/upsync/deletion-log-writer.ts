import { unlessAborted } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { mayPass } from "@tmc/kube/fault.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { formatKey, type ObjectKey, type WorkloadKey } from "../model/key.ts";
import { registrationKey } from "../sync/observed.ts";
import { withEnd, withRefusal } from "./deletion-log.ts";
import { type Inventory, type Subject, takeInventory } from "./inventory.ts";
import type { Observed } from "./observe.ts";
import { optInsOf } from "./opt-in.ts";
import type { UpsyncTools } from "./world.ts";

/** Why an object must not go; and whether that may be over in a moment. */
export type Hold = Readonly<{ words: string; mayPass: boolean }>;

/**
 * Notes down in the status of its registration that an object goes, before it does; or answers why it must not.
 *
 * How many go is counted on the very registration that this is written over: whoever else has noted an end meanwhile makes a
 * conflict of it, and it is counted anew. One who dies in between has noted an end that is still to come, and it counts once.
 */
export async function logDeletion(
  tools: UpsyncTools,
  { name, subjects }: Observed,
  registration: string,
  signal: AbortSignal,
): Promise<Hold | undefined> {
  const { hub, deletionLog, workloads, clock } = tools;
  const key = registrationKey(name.key.logicalCluster, registration);
  if (!subjects.has(registration)) return { words: unknownWords, mayPass: false };
  return deletionLog.inTurn(key, signal, async () => {
    const seen = await hub.read<ClusterRegistration & KubeObject>(key, signal);
    if (seen === undefined) return { words: unknownWords, mayPass: false };
    const subject: Subject = { key, registration: seen, optIns: optInsOf(seen, workloads.types).optIns };
    const counted = await countWith(tools, subject, name.key.name, signal);
    if ("words" in counted) return counted;
    if (counted.held !== undefined) return { words: counted.held, mayPass: false };
    const status = seen.status ?? {};
    const noted = counted.isConfirmed ? status : withEnd(status, name.key.name, clock.now());
    if (noted !== status) await hub.writeStatus(key, seen, noted, signal);
    return undefined;
  });
}

/** Counts everything, the end of this name included; where that cannot be done, nothing may go. */
async function countWith(
  tools: UpsyncTools,
  subject: Subject,
  name: string,
  signal: AbortSignal,
): Promise<Inventory | Hold> {
  try {
    const counted = await takeInventory(tools, subject, signal);
    if (counted?.vanished.includes(name) === true) return counted;
    // Its own end is news to what was listed before.
    tools.source.invalidate(subject.key);
    const renewed = await takeInventory(tools, subject, signal);
    return renewed?.vanished.includes(name) === true ? renewed : { words: unknownWords, mayPass: true };
  } catch (error) {
    signal.throwIfAborted();
    const fault = faultOf(error);
    if (fault === undefined) throw error;
    return { words: unknownWords, mayPass: mayPass(fault) };
  }
}

const unknownWords = "it is not known how many go";

/** Notes down that the workspace refuses an object, or that it does so no more; the registration says so in its conditions. */
export async function logRejection(
  { hub, deletionLog, clock, enqueue }: UpsyncTools,
  { name, subjects }: Observed,
  { registration, message }: Readonly<{ registration: string; message: string | undefined }>,
  signal: AbortSignal,
): Promise<void> {
  const { key } = name;
  const before = subjects.get(registration)?.registration.status?.upsync?.rejected ?? [];
  // What nobody has noted is not to be taken back.
  if (message === undefined && !before.some((each) => each.name === key.name)) return;
  const home = registrationKey(key.logicalCluster, registration);
  await deletionLog.inTurn(home, signal, async () => {
    const seen = await hub.read<ClusterRegistration & KubeObject>(home, signal);
    if (seen === undefined) return;
    const status = seen.status ?? {};
    const noted = withRefusal(status, { name: key.name, message }, clock.now());
    if (noted === status) return;
    await hub.writeStatus(home, seen, noted, signal);
    await enqueue([home]);
  });
}

/** What the workspace made of what a cluster said. */
export type Agreement = Readonly<{ born: string; upstream: string }>;

/**
 * What one process remembers of its upsync. Nothing in it is needed to be right: without it something is asked, told or tried
 * once more.
 */
export interface DeletionLog {
  agreed(key: WorkloadKey): Agreement | undefined;
  agree(key: WorkloadKey, agreement: Agreement | undefined): void;
  /** Takes in what stands in the way of a key; answers whether that is news. */
  hinder(key: WorkloadKey, words: string): boolean;
  /** Has what is written to one registration by this process written in turn: side by side, all but one would conflict. */
  inTurn<T>(registration: ObjectKey, signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

/** Creates empty notes. */
export function createDeletionLog(): DeletionLog {
  const agreements = new Map<string, Agreement>();
  const hindrances = new Map<string, string>();
  /** When the last of those who wait has had its turn. */
  const turns = new Map<string, Promise<void>>();
  return {
    agreed: (key) => agreements.get(formatKey(key)),
    agree: (key, agreement) => {
      if (agreement === undefined || agreement.born === agreement.upstream) agreements.delete(formatKey(key));
      else agreements.set(formatKey(key), agreement);
    },
    hinder: (key, words) => {
      const before = hindrances.get(formatKey(key)) ?? "";
      if (words === "") hindrances.delete(formatKey(key));
      else hindrances.set(formatKey(key), words);
      return before !== words;
    },
    inTurn: async (registration, signal, work) => {
      const id = formatKey(registration);
      const before = turns.get(id) ?? Promise.resolve();
      const { promise: mine, resolve: end } = Promise.withResolvers<void>();
      const done = before.then(() => mine);
      turns.set(id, done);
      try {
        await unlessAborted(before, signal);
        return await work();
      } finally {
        end();
        if (turns.get(id) === done) turns.delete(id);
      }
    },
  };
}
