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
  ["finds no differences without copies", [], []],
  ["finds no differences of one copy", [aDeployment({ replicas: 1 })], []],
  ["ignores metadata and status of copies", [aDeployment({}, { a: "1" }), aDeployment({}, { replicas: "2" })], []],
  ["ignores fields that servers assign", [aService("10.0.0.1", 30001), aService("10.1.0.9", 30999)], []],
  [
    "finds fields that a user wrote",
    [aService("10.0.0.1", 30001), aService("10.1.0.9", 30999, 8080)],
    ["spec.ports[80/TCP].targetPort"],
  ],
  [
    "compares all copies and returns each path once",
    [
      aDeployment({ replicas: 1, paused: true }),
      aDeployment({ replicas: 2, paused: true }),
      aDeployment({ replicas: 3 }),
    ],
    ["spec.paused", "spec.replicas"],
  ],
  [
    "finds a field that only one copy has",
    [aDeployment({}), aDeployment({ template: { spec: { containers: [{ name: "web" }] } } })],
    ["spec.template.spec.containers[web]"],
  ],
])("%s", (_, copies, expected) => {
  expect(specDifferences(copies)).toEqual(expected);
  expect(specDifferences(copies.toReversed())).toEqual(expected);
});

it("ignores paths that are meant to differ between copies", () => {
  const copies = [aDeployment({ replicas: 1 }), aDeployment({ replicas: 2 })];
  expect(specDifferences(copies, { ignore: ["spec.replicas"] })).toEqual([]);
});
