import { describe, expect, it } from "vitest";
import {
  decideHubControllers,
  type HubControllerFacts,
  hubControllersError,
} from "../../../lib/upstream/hub-controllers.ts";

const nowMs = Date.parse("2030-01-01T00:00:00Z");
const ownedBy = (kind: string, isController = true) => ({
  metadata: {
    name: "web-1",
    namespace: "shop",
    ownerReferences: [{ apiVersion: "apps/v1", kind, name: "web", uid: "u", controller: isController }],
  },
});
const aLease = (renewTime: string) => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "kube-controller-manager" },
  spec: { renewTime },
});

describe("whether the hub runs workloads itself", () => {
  it.each<[string, Partial<HubControllerFacts>, string | undefined]>([
    ["an empty control plane does not", {}, undefined],
    [
      "a ReplicaSet that a Deployment manages shows it",
      { replicaSets: [ownedBy("Deployment")] },
      "Deployment web manages ReplicaSet shop/web-1 there",
    ],
    ["a Pod that a Job manages shows it", { pods: [ownedBy("Job")] }, "Job web manages Pod shop/web-1 there"],
    ["an owner that is no controller does not show it", { pods: [ownedBy("Job", false)] }, undefined],
    ["a Pod of another controller does not show it", { pods: [ownedBy("Database")] }, undefined],
    ["a ReplicaSet that a user created does not show it", { replicaSets: [{ metadata: { name: "web" } }] }, undefined],
    [
      "a Lease of kube-controller-manager that is renewed shows it",
      { lease: aLease("2029-12-31T23:59:30.000000Z") },
      "kube-controller-manager renews its Lease kube-system/kube-controller-manager there",
    ],
    ["a Lease that is not renewed any more does not show it", { lease: aLease("2029-12-31T23:00:00Z") }, undefined],
  ])("%s", (_, facts, expected) => {
    expect(decideHubControllers({ replicaSets: [], pods: [], lease: undefined, nowMs, ...facts })).toBe(expected);
  });

  it("the error of the controller is one line with the evidence and the remedy", () => {
    const { message } = hubControllersError("Deployment web manages ReplicaSet shop/web-1 there");
    expect(message).toMatch(
      /^--hub kubernetes: .*ReplicaSet shop\/web-1.*docs\/plain-hub\.md.*--hub-controllers=ignore/,
    );
    expect(message).not.toContain("\n");
  });
});
