import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import { createSetAsideTeller, eventOfEnd } from "../../../lib/engine/dead-letter-events.ts";
import type { ObjectEvent } from "../../../lib/model/event.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import { type WorkKey, workloadKey } from "../../../lib/model/key.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import type { EventSubject } from "../../../lib/upstream/events.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const east: WorkKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const web = workloadKey("abc", {
  type: { group: "apps", version: "v1", plural: "deployments" },
  namespace: "shop",
  name: "web",
});
const failedBy = (
  error: unknown,
  outcome: "retry" | "drop" | "dead-letter" = "dead-letter",
  key: WorkKey = east,
): QueueEvent => ({
  kind: "ended",
  item: { key, reason: "changed" },
  durationSeconds: 0,
  outcome,
  error,
  sort: "unforeseen",
  attempts: 5,
  afterSeconds: undefined,
});

describe("what people hear of how work ended", () => {
  const bug = new TypeError("x is undefined");
  const item = { key: east, reason: "changed" } as const;
  const silent: Record<string, QueueEvent> = {
    "nothing of what went well": { kind: "ended", item, durationSeconds: 0, outcome: "done" },
    "nothing of what is tried again": failedBy(bug, "retry"),
    "nothing of a lasting fault, which its status tells": failedBy(bug, "drop"),
    "nothing of what was cut off": { kind: "ended", item, durationSeconds: 0, outcome: "returned" },
    "nothing of what begins": { kind: "started", item, waitedSeconds: 0 },
    "nothing of a message that is no key": { kind: "unreadable", messageId: "1", cause: "", receives: 1 },
  };
  test.each(Object.entries(silent))("%s", (_, event) => {
    expect(eventOfEnd(event)).toBeUndefined();
  });

  test("that it was set aside, with the cause", () => {
    expect(eventOfEnd(failedBy(new Error("look at east", { cause: bug })))).toEqual({
      type: "Warning",
      reason: "ControllerError",
      message: "TMC has set it aside until it changes or is looked at anew: look at east: TypeError: x is undefined",
    });
  });

  test("no secret, and no more than one line", () => {
    const words = `refused\nAuthorization: Bearer abcdef123456, token: s3cr3t, ${"x".repeat(9_000)}`;
    const { message = "" } = eventOfEnd(failedBy(new Error(words))) ?? {};
    expect(message).not.toMatch(/abcdef123456|s3cr3t|\n/);
    expect(message.length).toBeLessThan(600);
  });
});

describe("telling", () => {
  function teller(read: (key: WorkKey) => Promise<KubeObject | undefined>) {
    const clock = createManualClock();
    const told: [WorkKey["kind"] | undefined, EventSubject, ObjectEvent][] = [];
    const troubles: unknown[] = [];
    const made = createSetAsideTeller({
      events: { tell: ({ kind }, about, event) => told.push([kind, about, event]) },
      // Only objects of the test are ever read.
      hub: { read: read as Hub["read"] },
      workloads: { read },
      clock,
      onTrouble: (error) => troubles.push(error),
    });
    return { ...made, clock, told, troubles };
  }
  const objectOf = async ({ kind, name }: WorkKey): Promise<KubeObject> => ({
    apiVersion: "v1",
    kind,
    metadata: { name, uid: "1" },
  });

  test("is about the object of the key, a workload as well", async () => {
    const { take, whenTaken, told } = teller(objectOf);
    take(failedBy(new Error("bug")));
    take(failedBy(new Error("bug"), "dead-letter", web));
    await whenTaken();
    expect(told.map(([kind, about]) => [kind, about.metadata.name])).toEqual([
      ["ClusterRegistration", "east"],
      ["Workload", web.name],
    ]);
  });

  test("of one object comes once in ten minutes, even with other words", async () => {
    const { take, whenTaken, told, clock } = teller(objectOf);
    for (let minute = 0; minute < 25; minute++) {
      take(failedBy(new Error(`request ${minute} failed`)));
      clock.advance(60_000);
    }
    await whenTaken();
    expect(told).toHaveLength(3);
  });

  test("is left out for what is gone or cannot be read", async () => {
    const gone = teller(async () => undefined);
    gone.take(failedBy(new Error("bug")));
    await gone.whenTaken();
    expect(gone).toMatchObject({ told: [], troubles: [] });
    const closed = teller(() => Promise.reject(new Error("no access")));
    closed.take(failedBy(new Error("bug")));
    await closed.whenTaken();
    expect(closed).toMatchObject({ told: [], troubles: [new Error("no access")] });
  });
});
