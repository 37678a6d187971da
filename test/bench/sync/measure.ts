import { performance } from "node:perf_hooks";
import { forEachOf } from "../load.ts";
import type { ControllerProcess } from "../measure-engine.ts";
import { hasImage, isNamed, isReadyOn, type Place, type Seen } from "./place.ts";
import { pairPool, type SyncSession, type Writes } from "./session.ts";
import { untilNotified } from "./until-notified.ts";

/** The same done by hand and by the controller, in milliseconds. */
export type Compared = Readonly<{ direct: readonly number[]; synced: readonly number[] }>;

export type Singles = Readonly<{
  /** From before the create to the Deployment in both clusters. */
  exists: Compared;
  /** To the time at which both clusters report all as ready, or the workspace does. */
  ready: Compared;
  /** From before the change of the image to both clusters having it. */
  image: Compared;
  /** What the controller wrote for the changes of images, for all of them together. */
  writes: Writes;
}>;

/** How many writers there are when many Deployments are made at once. */
export const writers = 32;

const replicasOfOne = 2;

/** One Deployment after the other, each by hand and by the controller in turn: what else the machine does comes to both. */
export async function measureSingles(
  { hub, pair, world }: SyncSession,
  controller: ControllerProcess,
  { prefix, count }: Readonly<{ prefix: string; count: number }>,
): Promise<Singles> {
  const exists = compared();
  const ready = compared();
  const image = compared();
  for (let index = 0; index < count; index += 1) {
    const [byHand, synced] = [`${prefix}-hand-${index}`, `${prefix}-tmc-${index}`];
    const direct = await clocked(
      () => Promise.all(pair.map((each) => each.create({ name: byHand, replicas: replicasOfOne }))),
      untilAll(pair, 1, isThe(byHand)),
      untilAll(pair, 1, and(isThe(byHand), isReadyOn(1))),
    );
    const own = await clocked(
      () => hub.create({ name: synced, pool: pairPool, replicas: replicasOfOne }),
      untilAll(pair, 1, isThe(synced)),
      untilAll([hub], 1, and(isThe(synced), isReadyOn(2))),
    );
    note(exists, direct[0], own[0]);
    note(ready, direct[1], own[1]);
    await controller.settled();
  }
  // What placements say of those that were created is no part of what a change costs.
  await untilNotified();
  const before = await world.writes();
  for (let index = 0; index < count; index += 1) {
    const [byHand, synced] = [`${prefix}-hand-${index}`, `${prefix}-tmc-${index}`];
    const next = `registry.example/web:${index + 2}`;
    const direct = await clocked(
      () => Promise.all(pair.map((each) => each.setImage(byHand, next))),
      untilAll(pair, 1, and(isThe(byHand), hasImage(next))),
      untilAll(pair, 1, and(isThe(byHand), hasImage(next), isReadyOn(1))),
    );
    const own = await clocked(
      () => hub.setImage(synced, next),
      untilAll(pair, 1, and(isThe(synced), hasImage(next))),
      untilAll([hub], 1, and(isThe(synced), hasImage(next), isReadyOn(2))),
    );
    note(image, direct[0], own[0]);
    await controller.settled();
  }
  return { exists, ready, image, writes: writesSince(before, await world.writes()) };
}

/** Goes all ways once before it counts. */
export async function warmUp(session: SyncSession, controller: ControllerProcess): Promise<void> {
  await measureSingles(session, controller, { prefix: "warm", count: 5 });
  await measureManyByHand(session, "warm-hand-many", writers);
  await measureMany(session, controller, { prefix: "warm-many", count: writers });
}

export type Many = Readonly<{
  count: number;
  /** Until all are on their clusters, as these show them. */
  existMs: number;
  /** Until all are reported as ready: by the clusters, or by the workspace. */
  readyMs: number;
  cpuMs: number;
  writes: Writes;
}>;

/** Many at once by hand, in the two clusters. */
export async function measureManyByHand({ pair }: SyncSession, prefix: string, count: number): Promise<Many> {
  const [existMs = 0, readyMs = 0] = await clocked(
    () =>
      forEachOf(count, writers, (index) =>
        Promise.all(pair.map((each) => each.create({ name: `${prefix}-${index}` }))),
      ),
    untilAll(pair, count, isNamed(`${prefix}-`)),
    untilAll(pair, count, and(isNamed(`${prefix}-`), isReadyOn(1))),
  );
  return { count, existMs, readyMs, cpuMs: 0, writes: { up: {}, down: {} } };
}

/** Many at once in the workspace. */
export async function measureMany(
  { hub, pair, world }: SyncSession,
  controller: ControllerProcess,
  { prefix, count }: Readonly<{ prefix: string; count: number }>,
): Promise<Many> {
  const [before, { cpuMs }] = [await world.writes(), await controller.usage()];
  const [existMs = 0, readyMs = 0] = await clocked(
    () => forEachOf(count, writers, (index) => hub.create({ name: `${prefix}-${index}`, pool: pairPool })),
    untilAll(pair, count, isNamed(`${prefix}-`)),
    untilAll([hub], count, and(isNamed(`${prefix}-`), isReadyOn(2))),
  );
  await controller.settled();
  const after = await controller.usage();
  return { count, existMs, readyMs, cpuMs: after.cpuMs - cpuMs, writes: writesSince(before, await world.writes()) };
}

/** Many at once by hand, and the same through the workspace right after it. */
export type ManyRound = Readonly<{ byHand: Many; synced: Many }>;

/** What else a machine does comes and goes: the middle one of some rounds is what is said. */
export async function measureManyRounds(
  session: SyncSession,
  controller: ControllerProcess,
  { prefix, count, rounds }: Readonly<{ prefix: string; count: number; rounds: number }>,
): Promise<readonly ManyRound[]> {
  const all: ManyRound[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const byHand = await measureManyByHand(session, `hand-${prefix}-${round}`, count);
    all.push({ byHand, synced: await measureMany(session, controller, { prefix: `${prefix}-${round}`, count }) });
  }
  return all.toSorted((one, other) => ratioOf(one) - ratioOf(other));
}

/** How much longer it takes through the workspace. */
export const ratioOf = ({ byHand, synced }: ManyRound): number => synced.existMs / byHand.existMs;

export type Crowd = Readonly<{ count: number; existMs: number; reportedMs: number; cpuMs: number }>;

/** Many over all clusters, each on one of them; with no replicas it is the controller's work alone that shows. */
export async function measureCrowd(
  { hub, clusters }: SyncSession,
  controller: ControllerProcess,
  { prefix, count }: Readonly<{ prefix: string; count: number }>,
): Promise<Crowd> {
  const { cpuMs } = await controller.usage();
  const share = Math.floor(count / clusters.length);
  const total = share * clusters.length;
  const [existMs = 0, reportedMs = 0] = await clocked(
    () =>
      forEachOf(total, writers, (index) =>
        hub.create({ name: `${prefix}-${index}`, pool: `${index % clusters.length}`, replicas: 0 }),
      ),
    untilAll(clusters, share, isNamed(`${prefix}-`)),
    untilAll([hub], total, and(isNamed(`${prefix}-`), isReadyOn(1))),
  );
  await controller.settled();
  return { count: total, existMs, reportedMs, cpuMs: (await controller.usage()).cpuMs - cpuMs };
}

/** The same over all clusters by hand. */
export async function measureCrowdByHand({ clusters }: SyncSession, prefix: string, count: number): Promise<number> {
  const share = Math.floor(count / clusters.length);
  const [existMs = 0] = await clocked(
    () =>
      forEachOf(share * clusters.length, writers, async (index) =>
        clusters[index % clusters.length]?.create({ name: `${prefix}-${index}`, replicas: 0 }),
      ),
    untilAll(clusters, share, isNamed(`${prefix}-`)),
  );
  return existMs;
}

/** What was written between two counts. */
export function writesSince(before: Writes, after: Writes): Writes {
  const between = (one: Writes["up"], other: Writes["up"]): Writes["up"] =>
    Object.fromEntries(
      Object.entries(other)
        .map(([what, count]): [string, number] => [what, count - (one[what] ?? 0)])
        .filter(([, count]) => count > 0),
    );
  return { up: between(before.up, after.up), down: between(before.down, after.down) };
}

/** How many that are; events are news for people, and no part of a change. */
export function sumOf(writes: Readonly<Record<string, number>>): number {
  return Object.entries(writes).reduce((sum, [what, count]) => (what.endsWith(" events") ? sum : sum + count), 0);
}

/** When each of these has come true, counted from just before the act. */
export async function clocked(
  act: () => Promise<unknown>,
  ...watched: readonly (() => Promise<unknown>)[]
): Promise<number[]> {
  const began = performance.now();
  const times = watched.map(async (until) => {
    await until();
    return performance.now() - began;
  });
  await act();
  return Promise.all(times);
}

export const untilAll =
  (places: readonly Place[], count: number, holds: (seen: Seen) => boolean) => (): Promise<unknown> =>
    Promise.all(places.map((place) => place.untilSeen(count, holds)));

export const isThe =
  (name: string) =>
  ({ metadata }: Seen): boolean =>
    metadata.name === name;

export const and =
  (...all: readonly ((seen: Seen) => boolean)[]) =>
  (seen: Seen): boolean =>
    all.every((holds) => holds(seen));

type Noted = { direct: number[]; synced: number[] };
const compared = (): Noted => ({ direct: [], synced: [] });
function note({ direct, synced }: Noted, byHand = Number.NaN, own = Number.NaN): void {
  direct.push(byHand);
  synced.push(own);
}
