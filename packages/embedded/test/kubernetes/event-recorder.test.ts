import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, test } from "vitest";
import { createEmbeddedEventRecorder } from "../../src/kubernetes/event-recorder.ts";
import { aPod, noon } from "./builders.ts";

function setUp() {
  const events = new Map<string, KubeObject>();
  let now = noon;
  const record = createEmbeddedEventRecorder({
    now: () => now,
    find: (_, name) => events.get(name),
    put: (event) => void events.set(event.metadata.name ?? "", event),
    remove: (_, name) => void events.delete(name),
  });
  const note = (pod: string, message = "Successfully assigned") =>
    record(aPod(pod), { type: "Normal", reason: "Scheduled", message, source: "default-scheduler" });
  return { events, note, pass: (ms: number) => (now += ms) };
}

test("an event has the form of a real component's event", () => {
  const { events, note } = setUp();
  note("web-1");
  expect([...events.values()]).toMatchObject([
    {
      kind: "Event",
      metadata: { name: expect.stringMatching(/^web-1\.[0-9a-f]{15,16}$/), namespace: "default" },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace: "default", name: "web-1", uid: "uid-web-1" },
      type: "Normal",
      reason: "Scheduled",
      message: "Successfully assigned",
      source: { component: "default-scheduler" },
      count: 1,
      firstTimestamp: "2026-03-02T12:00:00Z",
    },
  ]);
});

test("a repeated event increases the count, and a different one is a new event", () => {
  const { events, note, pass } = setUp();
  note("web-1");
  pass(5000);
  note("web-1");
  note("web-1", "other");
  note("web-2");
  expect([...events.values()].map(({ count, lastTimestamp }) => [count, lastTimestamp])).toEqual([
    [2, "2026-03-02T12:00:05Z"],
    [1, "2026-03-02T12:00:05Z"],
    [1, "2026-03-02T12:00:05Z"],
  ]);
});

test("the oldest events are deleted when there are too many", () => {
  const { events, note } = setUp();
  for (let number = 0; number < 1100; number += 1) note(`web-${number}`);
  expect(events.size).toBe(1000);
  expect([...events.keys()].some((name) => name.startsWith("web-99."))).toBe(false);
  expect([...events.keys()].some((name) => name.startsWith("web-1099."))).toBe(true);
});
