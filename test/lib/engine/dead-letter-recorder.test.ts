import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, test } from "vitest";
import { createDeadLetterRecorder, deadLetterEventOf } from "../../../lib/engine/dead-letter-recorder.ts";
import type { ObjectEvent } from "../../../lib/model/event.ts";
import type { Hub } from "../../../lib/model/hub.ts";
import { type WorkKey, workloadKey } from "../../../lib/model/key.ts";
import type { QueueEvent } from "../../../lib/queue/queue-event.ts";
import type { EventSubject } from "../../../lib/upstream/events.ts";

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
  failureKind: "unexpected",
  attempts: 5,
  afterSeconds: undefined,
});

describe("Events about finished reconciles", () => {
  const bug = new TypeError("x is undefined");
  const item = { key: east, reason: "changed" } as const;
  const silent: Record<string, QueueEvent> = {
    "a success": { kind: "ended", item, durationSeconds: 0, outcome: "done" },
    "a failure that is retried": failedBy(bug, "retry"),
    "a permanent fault, which the status reports": failedBy(bug, "drop"),
    "an aborted reconcile": { kind: "ended", item, durationSeconds: 0, outcome: "returned" },
    "the start of a reconcile": { kind: "started", item, waitedSeconds: 0 },
    "an unreadable message": { kind: "unreadable", messageId: "1", cause: "", receives: 1 },
  };
  test.each(Object.entries(silent))("no Event is recorded for %s", (_, event) => {
    expect(deadLetterEventOf(event)).toBeUndefined();
  });

  test("the Event of a dead letter contains its cause", () => {
    expect(deadLetterEventOf(failedBy(new Error("look at east", { cause: bug })))).toEqual({
      type: "Warning",
      reason: "ControllerError",
      message: "TMC stopped retrying until the object changes or is resynced: look at east: TypeError: x is undefined",
    });
  });

  test("the Event of a dead letter is one short line without secrets", () => {
    const words = `refused\nAuthorization: Bearer abcdef123456, token: s3cr3t, ${"x".repeat(9_000)}`;
    const { message = "" } = deadLetterEventOf(failedBy(new Error(words))) ?? {};
    expect(message).not.toMatch(/abcdef123456|s3cr3t|\n/);
    expect(message.length).toBeLessThan(600);
  });
});

describe("createDeadLetterRecorder", () => {
  function aRecorder(read: (key: WorkKey) => Promise<KubeObject | undefined>) {
    const clock = createManualClock();
    const recorded: [WorkKey["kind"] | undefined, EventSubject, ObjectEvent][] = [];
    const errors: unknown[] = [];
    const made = createDeadLetterRecorder({
      events: { record: ({ kind }, about, event) => recorded.push([kind, about, event]) },
      // Only objects of this test are read.
      hub: { read: read as Hub["read"] },
      workloads: { read },
      clock,
      onError: (error) => errors.push(error),
    });
    return { ...made, clock, recorded, errors };
  }
  const objectOf = async ({ kind, name }: WorkKey): Promise<KubeObject> => ({
    apiVersion: "v1",
    kind,
    metadata: { name, uid: "1" },
  });

  test("the Event of a dead letter is about the object of its key, also for a workload", async () => {
    const { onQueueEvent, flush, recorded } = aRecorder(objectOf);
    onQueueEvent(failedBy(new Error("bug")));
    onQueueEvent(failedBy(new Error("bug"), "dead-letter", web));
    await flush();
    expect(recorded.map(([kind, about]) => [kind, about.metadata.name])).toEqual([
      ["ClusterRegistration", "east"],
      ["Workload", web.name],
    ]);
  });

  test("dead letters of one object are recorded at most once in ten minutes, even with other messages", async () => {
    const { onQueueEvent, flush, recorded, clock } = aRecorder(objectOf);
    for (let minute = 0; minute < 25; minute++) {
      onQueueEvent(failedBy(new Error(`request ${minute} failed`)));
      clock.advance(60_000);
    }
    await flush();
    expect(recorded).toHaveLength(3);
  });

  test("no Event is recorded for an object that is gone or cannot be read", async () => {
    const gone = aRecorder(async () => undefined);
    gone.onQueueEvent(failedBy(new Error("bug")));
    await gone.flush();
    expect(gone).toMatchObject({ recorded: [], errors: [] });
    const closed = aRecorder(() => Promise.reject(new Error("no access")));
    closed.onQueueEvent(failedBy(new Error("bug")));
    await closed.flush();
    expect(closed).toMatchObject({ recorded: [], errors: [new Error("no access")] });
  });
});
