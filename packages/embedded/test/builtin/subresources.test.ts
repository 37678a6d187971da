import { systemClock } from "@tmc/kube/clock.ts";
import { describe, expect, it } from "vitest";
import { createMemoryStore } from "../../src/storage/memory-store.ts";
import { createOperations } from "../../src/storage/object-operations.ts";
import { aContext, builtinDefinitions, definitionOf, openAccess } from "./fixed-access.ts";

const alice = { user: { name: "alice", groups: [] } };

function aCluster() {
  const store = createMemoryStore();
  const find = (group: string, version: string, plural: string) =>
    builtinDefinitions.find((item) => item.group === group && item.version === version && item.plural === plural);
  const catalog = { definitions: () => builtinDefinitions, find };
  const operations = createOperations({ store, clock: systemClock, catalogOf: () => catalog });
  const create = (kind: string, fields: object, namespace?: string) =>
    operations.create(
      { definition: definitionOf(kind), logicalCluster: "", namespace },
      { apiVersion: "v1", kind, metadata: { name: "x", ...(namespace === undefined ? {} : { namespace }) }, ...fields },
      alice,
    );
  operations.create(
    { definition: definitionOf("Namespace"), logicalCluster: "" },
    { apiVersion: "v1", kind: "Namespace", metadata: { name: "default" } },
    alice,
  );
  return { operations, create, context: aContext({ operations }) };
}

const pod = { spec: { containers: [{ name: "a", image: "x" }] } };

describe("subresources", () => {
  it("token issues a service account token that the server accepts", () => {
    const { create, context } = aCluster();
    const parent = create("ServiceAccount", {}, "default");
    const token = definitionOf("ServiceAccount").extraSubresources?.token;
    const answer = token?.handle(
      { verb: "create", parent, body: { apiVersion: "", kind: "", metadata: {}, spec: {} } },
      context,
    );
    if (typeof answer !== "object") throw new Error("no TokenRequest");
    expect(answer).toMatchObject({
      kind: "TokenRequest",
      spec: { expirationSeconds: 3600 },
      status: { expirationTimestamp: "2026-11-16T13:00:00Z" },
    });
    const issued = (answer.status as { token: string }).token;
    expect(openAccess.serviceAccountTokens.read(issued, context.now)).toMatchObject({
      namespace: "default",
      name: "x",
      uid: parent.metadata.uid,
    });
  });

  it("token is valid for at least ten minutes", () => {
    const { create, context } = aCluster();
    const parent = create("ServiceAccount", {}, "default");
    const body = { apiVersion: "", kind: "", metadata: {}, spec: { expirationSeconds: 60 } };
    expect(() =>
      definitionOf("ServiceAccount").extraSubresources?.token?.handle({ verb: "create", parent, body }, context),
    ).toThrow("spec.expirationSeconds: Invalid value: 60: may not specify a duration less than 10 minutes");
  });

  it("binding sets the node of a pod", () => {
    const { operations, create, context } = aCluster();
    const parent = create("Pod", pod, "default");
    const body = { apiVersion: "v1", kind: "Binding", metadata: {}, target: { name: "n1" } };
    definitionOf("Pod").extraSubresources?.binding?.handle({ verb: "create", parent, body }, context);
    const bound = operations.get({
      definition: definitionOf("Pod"),
      logicalCluster: "",
      namespace: "default",
      name: "x",
    });
    expect(bound).toMatchObject({
      spec: { nodeName: "n1" },
      status: { conditions: [{ type: "PodScheduled", status: "True" }] },
    });
  });

  it("eviction deletes a pod", () => {
    const { operations, create, context } = aCluster();
    const parent = create("Pod", pod, "default");
    const body = { apiVersion: "policy/v1", kind: "Eviction", metadata: {}, deleteOptions: { gracePeriodSeconds: 0 } };
    definitionOf("Pod").extraSubresources?.eviction?.handle({ verb: "create", parent, body }, context);
    expect(operations.list({ definition: definitionOf("Pod"), logicalCluster: "" }).items).toEqual([]);
  });

  it("approval changes only the conditions of a certificate request", () => {
    const { create, context } = aCluster();
    const parent = create("CertificateSigningRequest", { spec: { request: "eA==", signerName: "a/b" } });
    const body = { ...parent, spec: {}, status: { conditions: [{ type: "Approved", status: "True" }] } };
    const answer = definitionOf("CertificateSigningRequest").extraSubresources?.approval?.handle(
      { verb: "update", parent, body },
      context,
    );
    expect(answer).toMatchObject({
      spec: { signerName: "a/b", username: "alice" },
      status: { conditions: [{ type: "Approved", status: "True" }] },
    });
  });

  it("events are the same objects in both groups", () => {
    const { operations, create } = aCluster();
    create(
      "Event",
      { involvedObject: { kind: "Pod", name: "a", namespace: "default" }, message: "hello", type: "Normal" },
      "default",
    );
    const [event] = operations.list({ definition: definitionOf("Event", "events.k8s.io"), logicalCluster: "" }).items;
    expect(event).toMatchObject({ apiVersion: "events.k8s.io/v1", regarding: { name: "a" }, note: "hello" });
    expect(event).not.toHaveProperty("message");
  });
});
