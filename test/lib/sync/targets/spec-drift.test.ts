import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { expect, it } from "vitest";
import { specDifferences } from "../../../../lib/sync/targets/drift.ts";

const aDeployment = (spec: object, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels },
  spec,
  status: { replicas: labels.replicas },
});
const aService = (clusterIP: string, nodePort: number, targetPort = 80): KubeObject => ({
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web" },
  spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, targetPort, nodePort }] },
});

it.each<[string, readonly KubeObject[], readonly string[]]>([
  ["no copies agree", [], []],
  ["one copy agrees with itself", [aDeployment({ replicas: 1 })], []],
  ["metadata and status are each cluster's own", [aDeployment({}, { a: "1" }), aDeployment({}, { replicas: "2" })], []],
  ["what servers hand out is each cluster's own", [aService("10.0.0.1", 30001), aService("10.1.0.9", 30999)], []],
  [
    "what somebody wrote is not",
    [aService("10.0.0.1", 30001), aService("10.1.0.9", 30999, 8080)],
    ["spec.ports[80/TCP].targetPort"],
  ],
  [
    "every copy counts, and each path once",
    [
      aDeployment({ replicas: 1, paused: true }),
      aDeployment({ replicas: 2, paused: true }),
      aDeployment({ replicas: 3 }),
    ],
    ["spec.paused", "spec.replicas"],
  ],
  [
    "a field that only one of them has counts, whichever it is",
    [aDeployment({}), aDeployment({ template: { spec: { containers: [{ name: "web" }] } } })],
    ["spec.template.spec.containers[web]"],
  ],
])("%s", (_, copies, expected) => {
  expect(specDifferences(copies)).toEqual(expected);
  expect(specDifferences(copies.toReversed())).toEqual(expected);
});

it("what is meant to differ does not count", () => {
  const copies = [aDeployment({ replicas: 1 }), aDeployment({ replicas: 2 })];
  expect(specDifferences(copies, { ignore: ["spec.replicas"] })).toEqual([]);
});
