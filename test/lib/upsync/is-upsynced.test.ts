import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { isUpsyncCandidate } from "../../../lib/upsync/normalize.ts";
import { aDeployment } from "./builders.ts";

const replicaSet = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "web", uid: "1" };

const born: Readonly<Record<string, KubeObject>> = {
  "what somebody applied": aDeployment(),
  "what an owner without control refers to": aDeployment({ ownerReferences: [replicaSet] }),
  "a Service of that name elsewhere": { ...aDeployment({ name: "kubernetes" }), kind: "Service" },
};
const notBorn: Readonly<Record<string, KubeObject>> = {
  "a copy of ours": aDeployment({ labels: { "tmc.kcp.io/synced": "abc" } }),
  "what carries our origin without the label": aDeployment({ annotations: { "tmc.kcp.io/owner": "{}" } }),
  "what a controller made": aDeployment({ ownerReferences: [{ ...replicaSet, controller: true }] }),
  "what is in a namespace of the servers": aDeployment({ namespace: "kube-system" }),
  "what is in a namespace that TMC made": aDeployment({ namespace: `tmc-shop-${"0".repeat(25)}` }),
  "what is in no namespace": { ...aDeployment(), metadata: { name: "web" } },
  "the authorities of a cluster": { ...aDeployment({ name: "kube-root-ca.crt" }), kind: "ConfigMap" },
  "a service account's token": { ...aDeployment(), kind: "Secret", type: "kubernetes.io/service-account-token" },
  "the account that every namespace has": { ...aDeployment({ name: "default" }), kind: "ServiceAccount" },
  "the address of the API server": { ...aDeployment({ namespace: "default", name: "kubernetes" }), kind: "Service" },
};

describe("what is born on a cluster", () => {
  it.each(Object.entries(born))("is: %s", (_, object) => expect(isUpsyncCandidate(object)).toBe(true));
  it.each(Object.entries(notBorn))("is not: %s", (_, object) => expect(isUpsyncCandidate(object)).toBe(false));
});
