import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import {
  decideLease,
  type Lease,
  type LeaseFacts,
  type LeaseStore,
  leaseTimes,
  workAsLeader,
} from "../../../lib/controller/leader-election.ts";
import { createLog } from "../../../lib/observe/log.ts";

const aLease = (holderIdentity: string, leaseDurationSeconds = 15): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "tmc-controller", resourceVersion: "1" },
  spec: { holderIdentity, leaseDurationSeconds },
});

describe("decideLease", () => {
  const rows: Record<string, readonly [Partial<LeaseFacts>, ReturnType<typeof decideLease>]> = {
    "creates a Lease that does not exist": [{ lease: undefined }, "create"],
    "renews its own Lease, however old it is": [{ lease: aLease("a"), unchangedMs: 60_000 }, "renew"],
    "takes a Lease that was released": [{ lease: aLease("") }, "take"],
    "waits while another process renews": [{ lease: aLease("b"), unchangedMs: 14_999 }, "wait"],
    "takes a Lease that was not renewed": [{ lease: aLease("b"), unchangedMs: 15_000 }, "take"],
    "respects the duration that the holder has set": [{ lease: aLease("b", 60), unchangedMs: 15_000 }, "wait"],
  };
  it.each(Object.entries(rows))("%s", (_, [facts, decided]) => {
    expect(decideLease({ lease: undefined, identity: "a", unchangedMs: 0, ...facts })).toBe(decided);
  });
});

/** A Lease on a server, and processes that want it. */
function aServer() {
  const clock = createManualClock();
  let stored: Lease | undefined;
  let version = 0;
  const unreachable = new Set<string>();
  const put = (lease: Lease): Lease => {
    version += 1;
    stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    return stored;
  };
  const storeOf = (identity: string): LeaseStore => {
    const check = (): void => {
      if (unreachable.has(identity)) throw new ControllerError("unreachable", "no connection");
    };
    return {
      read: async () => {
        check();
        return stored;
      },
      create: async (lease) => {
        check();
        if (stored !== undefined) throw new ControllerError("exists", "there is a Lease");
        return put(lease);
      },
      update: async (lease) => {
        check();
        if (lease.metadata.resourceVersion !== stored?.metadata.resourceVersion)
          throw new ControllerError("conflict", "the Lease has changed");
        return put(lease);
      },
    };
  };
  const working = new Set<string>();
  const start = (identity: string) => {
    const stop = new AbortController();
    const log = createLog({ level: 0, write: () => {}, clock });
    const ended = workAsLeader(
      { store: storeOf(identity), identity, clock, log },
      async (signal) => {
        working.add(identity);
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
        working.delete(identity);
      },
      stop.signal,
    );
    return {
      stop: async () => {
        stop.abort();
        await ended;
      },
    };
  };
  return { clock, unreachable, working, start, lease: () => stored };
}

/** Lets time pass in steps, so that requests are answered in between. */
async function pass(clock: ManualClock, seconds: number): Promise<void> {
  for (let at = 0; at <= seconds * 2; at += 1) {
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    clock.advance(at === 0 ? 0 : 500);
  }
  for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
}

describe("workAsLeader", () => {
  it("one of two processes works, and the other one takes over at once after a clean shutdown", async () => {
    const { clock, working, start, lease } = aServer();
    const first = start("a");
    await pass(clock, 0);
    const second = start("b");
    await pass(clock, 60);
    expect([...working]).toEqual(["a"]);
    await first.stop();
    expect(lease()?.spec?.holderIdentity).toBe("");
    await pass(clock, leaseTimes.retrySeconds);
    expect([...working]).toEqual(["b"]);
    expect(lease()?.spec).toMatchObject({ holderIdentity: "b", leaseTransitions: 2 });
    await second.stop();
    expect(clock.pending).toBe(0);
  });

  it("a process that loses its connection stops before another one takes over, within the duration of the Lease", async () => {
    const { clock, unreachable, working, start } = aServer();
    const first = start("a");
    await pass(clock, 0);
    const second = start("b");
    await pass(clock, 20);
    unreachable.add("a");
    await pass(clock, leaseTimes.renewDeadlineSeconds);
    expect([...working]).toEqual([]);
    await pass(clock, leaseTimes.durationSeconds - leaseTimes.renewDeadlineSeconds + leaseTimes.retrySeconds);
    expect([...working]).toEqual(["b"]);
    // The first one waits again, and does not disturb the second one.
    unreachable.delete("a");
    await pass(clock, 60);
    expect([...working]).toEqual(["b"]);
    await second.stop();
    await pass(clock, leaseTimes.retrySeconds);
    expect([...working]).toEqual(["a"]);
    await first.stop();
  });

  it("never two processes work, although they want the Lease at the same time", async () => {
    const { clock, working, start } = aServer();
    const processes = ["a", "b", "c"].map((identity) => start(identity));
    await pass(clock, 30);
    expect(working.size).toBe(1);
    for (const each of processes) await each.stop();
  });
});
