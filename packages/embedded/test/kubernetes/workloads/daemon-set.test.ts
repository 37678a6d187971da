import { describe, expect, test } from "vitest";
import type { DaemonSet, Node, Pod } from "../../../src/kubernetes/kinds.ts";
import { decideDaemonSet, pinnedToNode, targetNode } from "../../../src/kubernetes/workloads/daemon-set.ts";
import { aDaemonSet, aNode, aPod, aTemplate, noon, notReady } from "../builders.ts";

const pod = (name: string, node: string, hash = "new", parts: Parameters<typeof aPod>[1] = {}): Pod =>
  aPod(name, { ...parts, metadata: { labels: { "controller-revision-hash": hash } }, spec: { nodeName: node } });
const nodes = [aNode("n1"), aNode("n2"), aNode("n3")];
const tainted = aNode("n2", { spec: { taints: [{ key: "dedicated", value: "db", effect: "NoSchedule" }] } });

const rows: Record<string, { set?: DaemonSet; nodes?: Node[]; pods: Pod[]; create?: string[]; remove?: string[] }> = {
  "runs on every node": { pods: [pod("a", "n1")], create: ["n2", "n3"] },
  "runs on a node that is closed to others": {
    nodes: [aNode("n1", { spec: { unschedulable: true } })],
    pods: [],
    create: ["n1"],
  },
  "keeps away from a taint it does not tolerate": {
    nodes: [aNode("n1"), tainted],
    pods: [pod("a", "n1"), pod("b", "n2")],
    remove: ["b"],
  },
  "runs only where its node selector says": {
    set: aDaemonSet({
      spec: { template: { ...aTemplate("agent:1"), spec: { containers: [], nodeSelector: { disk: "ssd" } } } },
    }),
    nodes: [aNode("n1"), aNode("n2", { metadata: { labels: { disk: "ssd" } } })],
    pods: [],
    create: ["n2"],
  },
  "keeps one pod a node": { nodes: [aNode("n1")], pods: [pod("a", "n1"), pod("b", "n1")], remove: ["b"] },
  "replaces a pod that has failed": {
    nodes: [aNode("n1")],
    pods: [pod("a", "n1", "new", { status: { phase: "Failed" } })],
    remove: ["a"],
  },
  "updates one node after the other": {
    pods: [pod("a", "n1", "old"), pod("b", "n2", "old"), pod("c", "n3", "old")],
    remove: ["a"],
  },
  "waits for an updated pod to serve": {
    pods: [pod("a", "n1", "new", { status: notReady }), pod("b", "n2", "old"), pod("c", "n3", "old")],
  },
  "leaves an update to whoever deletes pods": {
    set: aDaemonSet({ spec: { updateStrategy: { type: "OnDelete" } } }),
    pods: [pod("a", "n1", "old"), pod("b", "n2", "old"), pod("c", "n3", "old")],
  },
};

describe("a daemon set", () => {
  test.each(Object.entries(rows))("%s", (_, row) => {
    const { set = aDaemonSet(), pods, create = [], remove = [] } = row;
    const plan = decideDaemonSet({ set, pods, nodes: row.nodes ?? nodes, updateHash: "new", now: noon });
    expect([plan.create, plan.remove.map((each) => each.metadata.name)]).toEqual([create, remove]);
  });

  test("has the status of a real one", () => {
    const pods = [pod("a", "n1"), pod("b", "n2", "old")];
    expect(decideDaemonSet({ set: aDaemonSet(), pods, nodes, updateHash: "new", now: noon }).status).toEqual({
      currentNumberScheduled: 2,
      numberMisscheduled: 0,
      desiredNumberScheduled: 3,
      numberReady: 2,
      observedGeneration: 1,
      updatedNumberScheduled: 1,
      numberAvailable: 2,
      numberUnavailable: 1,
    });
  });

  test("binds each pod to its node by node affinity", () => {
    const spec = { ...aTemplate().spec, ...pinnedToNode(aTemplate().spec, "n2") };
    const { nodeName: _, ...unplaced } = { ...aPod("a").spec, ...spec };
    expect(targetNode({ ...aPod("a"), spec: unplaced })).toBe("n2");
  });
});
