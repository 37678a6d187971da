import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  createLeaderElection,
  decideLease,
  graceAfterLossMs,
  type LeaderElection,
  nextLeaseSpec,
} from "../../../lib/engine/leader-election.ts";
import { createLog } from "../../../lib/observe/log.ts";

const held = {
  holderIdentity: "other",
  leaseDurationSeconds: 15,
  leaseTransitions: 3,
  acquireTime: "a",
  renewTime: "b",
};

describe("the decision about a Lease", () => {
  it.each([
    ["acquires one that does not exist", undefined, 0, "acquire"],
    ["acquires one that was released", { ...held, holderIdentity: "" }, 0, "acquire"],
    ["renews its own", { ...held, holderIdentity: "me" }, 0, "renew"],
    ["renews its own even if it has expired", { ...held, holderIdentity: "me" }, 60_000, "renew"],
    ["waits for one that another process renewed", held, 0, "wait"],
    ["waits until the end of its duration", held, 14_999, "wait"],
    ["acquires one that did not change for its duration", held, 15_000, "acquire"],
    ["goes by the duration in the Lease", { ...held, leaseDurationSeconds: 60 }, 15_000, "wait"],
  ] as const)("%s", (_, spec, unchangedMs, expected) => {
    expect(decideLease({ identity: "me", spec, unchangedMs })).toBe(expected);
  });

  it("counts the changes of the holder, and keeps the time of the acquisition in renewals", () => {
    const facts = { identity: "me", durationSeconds: 9, nowMs: Date.UTC(2026, 0, 1) };
    const renewTime = "2026-01-01T00:00:00.000000Z";
    const common = { holderIdentity: "me", leaseDurationSeconds: 9, renewTime };
    expect(nextLeaseSpec("acquire", { ...facts, spec: undefined })).toEqual({
      ...common,
      acquireTime: renewTime,
      leaseTransitions: 0,
    });
    expect(nextLeaseSpec("acquire", { ...facts, spec: held })).toEqual({
      ...common,
      acquireTime: renewTime,
      leaseTransitions: 4,
    });
    expect(nextLeaseSpec("renew", { ...facts, spec: held })).toEqual({ ...held, ...common });
  });
});

describe("a leader election", () => {
  let clock: ManualClock;
  let cluster: EmbeddedCluster;
  const clients: KubeClient[] = [];
  const elections: LeaderElection[] = [];
  beforeEach(async () => {
    clock = createManualClock();
    cluster = await startEmbeddedCluster({ name: "host", listen: false });
  });
  afterEach(async () => {
    for (const election of elections.splice(0)) await election.release();
    for (const client of clients.splice(0)) await client.close();
    await cluster.stop();
  });

  const log = createLog({ level: 0, write: () => {}, clock: createManualClock() });
  const connect = (): KubeClient => {
    const client = createKubeClient({ endpoint: { server: cluster.url }, transport: cluster.transport(), clock });
    clients.push(client);
    return client;
  };
  const candidate = (identity: string, client: KubeClient = connect()): LeaderElection => {
    const election = createLeaderElection({
      ...{ client, namespace: "default", name: "tmc-controller", identity },
      ...{ durationSeconds: 15, clock, log },
    });
    elections.push(election);
    return election;
  };
  /** A client whose requests fail while `isDown`. */
  const failing = (isDown: () => boolean): KubeClient => {
    const client = connect();
    const orFail =
      <T extends (...args: never[]) => Promise<unknown>>(call: T) =>
      (...args: Parameters<T>) =>
        isDown() ? Promise.reject(new Error("connection refused")) : call(...args);
    return {
      ...client,
      get: orFail(client.get) as KubeClient["get"],
      update: orFail(client.update) as KubeClient["update"],
    };
  };
  /** Runs what the timers up to now have caused, in small steps of the clock. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      clock.advance(Math.min(500, ms - passed));
      for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
  };
  const isDone = async (promise: Promise<unknown>): Promise<boolean> =>
    Promise.race([promise.then(() => true), new Promise<false>((resolve) => setImmediate(() => resolve(false)))]);
  const holder = async (): Promise<unknown> => {
    const leases = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
    const lease = await connect().get<KubeObject & { spec: { holderIdentity: string } }>({
      ...{ type: leases, namespace: "default", name: "tmc-controller" },
    });
    return lease.spec.holderIdentity;
  };

  it("has one leader if several processes start at the same time", async () => {
    const all = ["a", "b", "c"].map((name) => candidate(name).acquire(neverAborted));
    await pass(30_000);
    const done = await Promise.all(all.map(isDone));
    expect(done.filter(Boolean)).toHaveLength(1);
    expect(["a", "b", "c"].filter((_, at) => done[at])).toEqual([await holder()]);
  });

  it("moves to another process right after the leader has released the Lease", async () => {
    const [a, b] = [candidate("a"), candidate("b")];
    expect(await a.acquire(neverAborted)).toBe(true);
    const second = b.acquire(neverAborted);
    await pass(60_000);
    expect(await isDone(second)).toBe(false);
    expect(b.holder).toBe("a");
    await a.release();
    await pass(2_500);
    expect([await isDone(second), await holder()]).toEqual([true, "b"]);
  });

  it("moves to another process after the duration of the Lease if the leader disappears, and not before it has ended its work", async () => {
    let isDown = false;
    const [a, b] = [
      candidate(
        "a",
        failing(() => isDown),
      ),
      candidate("b"),
    ];
    await a.acquire(neverAborted);
    const second = b.acquire(neverAborted);
    await pass(10_000);
    isDown = true;
    let lostMs = Number.NaN;
    let takenMs = Number.NaN;
    const startMs = clock.monotonicMs();
    void a.lost.then(() => {
      lostMs = clock.monotonicMs() - startMs;
    });
    void second.then(() => {
      takenMs = clock.monotonicMs() - startMs;
    });
    await pass(40_000);
    // The last renewal was up to two seconds ago.
    expect(lostMs).toBeGreaterThan(7_000);
    expect(lostMs).toBeLessThanOrEqual(12_500);
    expect(takenMs).toBeGreaterThanOrEqual(lostMs + graceAfterLossMs(15) / 2);
    expect(takenMs).toBeLessThanOrEqual(18_000);
    expect(await holder()).toBe("b");
  });

  it("is lost if another process has the Lease", async () => {
    const a = candidate("a");
    await a.acquire(neverAborted);
    const leases = { group: "coordination.k8s.io", version: "v1", plural: "leases" };
    await connect().patch(
      { type: leases, namespace: "default", name: "tmc-controller" },
      { type: "merge", body: { spec: { holderIdentity: "stranger" } } },
    );
    await pass(2_500);
    expect(await isDone(a.lost)).toBe(true);
    await a.release();
    expect(await holder()).toBe("stranger");
  });

  it("survives failures that are shorter than its deadline", async () => {
    let isDown = false;
    const a = candidate(
      "a",
      failing(() => isDown),
    );
    await a.acquire(neverAborted);
    for (let round = 0; round < 5; round += 1) {
      isDown = true;
      await pass(6_000);
      isDown = false;
      await pass(3_000);
    }
    expect(await isDone(a.lost)).toBe(false);
  });

  it("ends its wait when the process ends", async () => {
    const [a, b] = [candidate("a"), candidate("b")];
    await a.acquire(neverAborted);
    const stop = new AbortController();
    const waits = b.acquire(stop.signal);
    await pass(3_000);
    stop.abort();
    expect(await waits).toBe(false);
  });
});
