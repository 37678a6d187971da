import { describe, expect, test } from "vitest";
import type { Pod } from "../../../src/kubernetes/kinds.ts";
import { decidePod, type PodOutcome, qosClass } from "../../../src/kubernetes/scheduling/kubelet.ts";
import { aPendingPod, noon } from "../builders.ts";

const placed: Pod = { ...aPendingPod("web-1"), spec: { ...aPendingPod("web-1").spec, nodeName: "n1" } };
const facts = { readyMs: 100, runMs: 50, podIP: "10.244.0.1", hostIP: "172.18.0.2", now: noon };
const at = (ageMs: number, outcome: PodOutcome = "runs", pod = placed) => decidePod({ ...facts, pod, outcome, ageMs });
const running: Pod = { ...placed, status: at(100).status };
const conditions = (pod: ReturnType<typeof at>) =>
  Object.fromEntries((pod.status.conditions ?? []).map(({ type, status }) => [type, status]));

describe("the status that a node reports for a pod", () => {
  test("reports ContainerCreating first, and the time of the next reconcile", () => {
    const step = at(40);
    expect(step.status.phase).toBe("Pending");
    expect(step.status.containerStatuses?.[0]?.state).toEqual({ waiting: { reason: "ContainerCreating" } });
    expect(conditions(step)).toMatchObject({ PodScheduled: "True", Initialized: "True", Ready: "False" });
    expect(step.nextMs).toBe(60);
  });
  test("reports a running and ready pod with an address after a delay", () => {
    const { status, events, nextMs } = at(100);
    expect(status).toMatchObject({
      phase: "Running",
      podIP: "10.244.0.1",
      hostIP: "172.18.0.2",
      qosClass: "BestEffort",
    });
    expect(status.containerStatuses?.[0]).toMatchObject({ ready: true, started: true, restartCount: 0 });
    expect(events.map((event) => event.reason)).toEqual(["Pulled", "Created", "Started"]);
    expect(nextMs).toBeUndefined();
  });
  test("reports nothing new while the pod runs", () => {
    const later = decidePod({ ...facts, pod: running, outcome: "runs", ageMs: 9000, now: noon + 9000 });
    expect(later).toEqual({ status: running.status, events: [], nextMs: undefined });
  });
  test("reports success of a job's pod after its run time", () => {
    expect(at(120, "completes", running).nextMs).toBe(30);
    const done = at(150, "completes", running).status;
    expect(done.phase).toBe("Succeeded");
    expect(done.containerStatuses?.[0]?.state.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
    expect(conditions(at(150, "completes", running))).toMatchObject({
      Ready: "False",
      PodReadyToStartContainers: "False",
    });
  });
  test("reports a failed pod with an error", () => {
    expect(at(150, "fails", running).status).toMatchObject({
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 1, reason: "Error" } } }],
    });
  });
  test("reports a missing image once, and the pod stays pending", () => {
    const step = at(500, "image-missing");
    expect(step.status.phase).toBe("Pending");
    expect(step.status.containerStatuses?.[0]?.state.waiting?.reason).toBe("ErrImagePull");
    expect(step.events.map((event) => event.reason)).toEqual(["Pulling", "Failed", "Failed"]);
    expect(at(600, "image-missing", { ...placed, status: step.status }).events).toEqual([]);
  });
  test("reports a crash as not ready with one restart, until its cause is removed", () => {
    const crashed = at(500, "crashes", running);
    expect(crashed.status.containerStatuses?.[0]).toMatchObject({
      ready: false,
      restartCount: 1,
      state: { waiting: { reason: "CrashLoopBackOff" } },
    });
    const again: Pod = { ...placed, status: crashed.status };
    expect(at(600, "crashes", again).status).toEqual(crashed.status);
    expect(at(700, "runs", again).status.containerStatuses?.[0]).toMatchObject({ ready: true, restartCount: 1 });
  });
});

test.each([
  ["BestEffort", {}],
  ["Burstable", { requests: { cpu: "100m" } }],
  ["Burstable", { limits: { cpu: "1" } }],
  ["Guaranteed", { limits: { cpu: "1", memory: "1Gi" } }],
  ["Burstable", { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "500m" } }],
] as const)("computes the QoS class %s for %j", (expected, resources) => {
  expect(qosClass([{ name: "c", resources }])).toBe(expected);
});
