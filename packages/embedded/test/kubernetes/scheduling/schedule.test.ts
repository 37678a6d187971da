import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../../../src/kubernetes/kinds.ts";
import { usedBy } from "../../../src/kubernetes/scheduling/fit.ts";
import { schedule } from "../../../src/kubernetes/scheduling/schedule.ts";
import { createUsage } from "../../../src/kubernetes/scheduling/usage.ts";
import { aNode, aPendingPod, aPod } from "../builders.ts";

const asking = (requests: Record<string, string>, spec: Partial<Pod["spec"]> = {}): Pod =>
  aPendingPod("p", { spec: { containers: [{ name: "c", image: "web:1", resources: { requests } }], ...spec } });
const on = (node: Node, ...pods: Pod[]) => ({ node, used: usedBy(pods) });
const busy = aPod("busy", { spec: { containers: [{ name: "c", resources: { requests: { cpu: "3500m" } } }] } });
const helpless = (count: number) =>
  `preemption: 0/${count} nodes are available: ${count} Preemption is not helpful for scheduling.`;

describe("a pod is scheduled to", () => {
  test.each<[string, Pod, ReturnType<typeof on>[], string]>([
    ["the only node it fits", asking({ cpu: "1" }), [on(aNode("n1"), busy), on(aNode("n2"))], "n2"],
    ["the emptier node", asking({ cpu: "100m" }), [on(aNode("n1"), aPod("a")), on(aNode("n2"))], "n2"],
    ["the first of equals", asking({}), [on(aNode("n2")), on(aNode("n1"))], "n1"],
    [
      "the node its selector names",
      asking({}, { nodeSelector: { zone: "b" } }),
      [on(aNode("n1")), on(aNode("n2", { metadata: { labels: { zone: "b" } } }), busy)],
      "n2",
    ],
    [
      "a tainted node that it tolerates",
      asking({}, { tolerations: [{ key: "dedicated", operator: "Exists" }] }),
      [on(aNode("n1", { spec: { taints: [{ key: "dedicated", effect: "NoSchedule" }] } }))],
      "n1",
    ],
    [
      "the node its affinity requires",
      asking(
        {},
        {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: {
                nodeSelectorTerms: [{ matchExpressions: [{ key: "size", operator: "Gt", values: ["5"] }] }],
              },
            },
          },
        },
      ),
      [
        on(aNode("n1", { metadata: { labels: { size: "4" } } })),
        on(aNode("n2", { metadata: { labels: { size: "10" } } })),
      ],
      "n2",
    ],
  ])("%s", (_, pod, candidates, nodeName) => {
    expect(schedule({ pod, candidates, full: false })).toEqual({ kind: "bind", nodeName });
  });
});

describe("a pod that fits on no node gets the scheduler's message", () => {
  test.each<[string, Pod, ReturnType<typeof on>[], string]>([
    ["no nodes", asking({}), [], "no nodes available to schedule pods"],
    [
      "more than a whole node has",
      asking({ cpu: "100" }),
      [on(aNode("n1"))],
      `0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, ${helpless(1)}`,
    ],
    [
      "no room left",
      asking({ cpu: "1" }),
      [on(aNode("n1"), busy)],
      "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
    ],
    [
      "a selector that no node has",
      asking({}, { nodeSelector: { x: "1" } }),
      [on(aNode("n1")), on(aNode("n2"))],
      `0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. no new claims to deallocate, ${helpless(2)}`,
    ],
    [
      "closed nodes",
      asking({}),
      [on(aNode("n1", { spec: { unschedulable: true } }))],
      `0/1 nodes are available: 1 node(s) were unschedulable. no new claims to deallocate, ${helpless(1)}`,
    ],
  ])("%s", (_, pod, candidates, message) => {
    expect(schedule({ pod, candidates, full: false })).toEqual({ kind: "unschedulable", message });
  });

  test("a cluster that is made full schedules no pod", () => {
    const decision = schedule({ pod: asking({}), candidates: [on(aNode("n1"))], full: true });
    expect(decision).toMatchObject({ kind: "unschedulable", message: expect.stringContaining("1 Too many pods") });
  });
  test("an unbound volume claim keeps its pod pending", () => {
    const claimError = "pod has unbound immediate PersistentVolumeClaims";
    expect(schedule({ pod: asking({}), candidates: [on(aNode("n1"))], full: false, claimError })).toEqual({
      kind: "unschedulable",
      message: "0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims. not found",
    });
  });
});

test("the usage of a node is updated with each of its pods", () => {
  const usage = createUsage();
  const other = aPod("other", {
    spec: { containers: [{ name: "c", resources: { requests: { cpu: "1", memory: "1Gi" } } }] },
  });
  for (const pod of [busy, other, busy]) usage.observe(pod, false);
  expect(usage.on("n1")).toEqual(usedBy([busy, other]));
  usage.observe({ ...other, status: { phase: "Succeeded" } }, false);
  usage.observe(busy, true);
  expect([...usage.on("n1").values()].every(({ nanos }) => nanos === 0n)).toBe(true);
});
