import type { KubeObject, OwnerReference } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { startGarbageCollector } from "../../src/controllers/garbage-collector.ts";
import {
  aConfigMap,
  asAdmin,
  aWidget,
  configMaps,
  createTestCore,
  type TestCore,
  widgets,
} from "../support/test-core.ts";

const home = { logicalCluster: "", namespace: "default" };
const owner = { definition: widgets, ...home, name: "owner" };

function started(): TestCore & { own: (owners: readonly KubeObject[], name: string, block?: boolean) => KubeObject } {
  const core = createTestCore();
  startGarbageCollector({ ...core, catalogOf: () => core.catalog });
  return {
    ...core,
    own: (owners, name, block = false) =>
      core.operations.create(
        { definition: configMaps, ...home },
        aConfigMap(name, { metadata: { ownerReferences: owners.map((one) => referenceTo(one, block)) } }),
        asAdmin,
      ),
  };
}

const referenceTo = ({ apiVersion, kind, metadata }: KubeObject, block: boolean): OwnerReference => ({
  apiVersion,
  kind,
  name: metadata.name ?? "",
  uid: metadata.uid ?? "",
  ...(block ? { blockOwnerDeletion: true } : {}),
});

const names = ({ store }: TestCore) => store.list("configmaps").map(({ metadata }) => metadata.name);

describe("the garbage collector", () => {
  it("deletes the dependents of a deleted owner, and their dependents", () => {
    const core = started();
    const first = core.operations.create(owner, aWidget("owner"), asAdmin);
    const second = core.own([first], "child");
    core.own([second], "grandchild");
    core.own([], "stranger");
    core.clock.advance(0);
    expect(names(core)).toEqual(["child", "grandchild", "stranger"]);
    core.operations.delete(owner, {}, asAdmin);
    expect(names(core)).toEqual(["child", "grandchild", "stranger"]);
    core.clock.advance(0);
    expect(names(core)).toEqual(["stranger"]);
  });

  it("keeps an object that has another owner, and removes the reference to the deleted one", () => {
    const core = started();
    const first = core.operations.create(owner, aWidget("owner"), asAdmin);
    const second = core.operations.create({ ...owner, name: "other" }, aWidget("other"), asAdmin);
    core.own([first, second], "child");
    core.operations.delete(owner, {}, asAdmin);
    core.clock.advance(0);
    expect(core.store.list("configmaps")[0]?.metadata.ownerReferences).toEqual([referenceTo(second, false)]);
  });

  it("deletes an object whose owner never existed, unless the type of the owner is not served", () => {
    const core = started();
    const nobody: KubeObject = { ...aWidget("ghost"), metadata: { name: "ghost", uid: "none" } };
    core.own([nobody], "orphan");
    core.own([{ ...nobody, apiVersion: "unknown.io/v1" }], "mystery");
    core.clock.advance(0);
    expect(names(core)).toEqual(["mystery"]);
  });

  it("does not treat a new object of the same name as the owner", () => {
    const core = started();
    const first = core.operations.create(owner, aWidget("owner"), asAdmin);
    core.own([first], "child");
    core.operations.delete(owner, {}, asAdmin);
    core.operations.create(owner, aWidget("owner"), asAdmin);
    core.clock.advance(0);
    expect(names(core)).toEqual([]);
  });

  it("deletes an owner after its dependents in a foreground deletion", () => {
    const core = started();
    const first = core.operations.create(owner, aWidget("owner"), asAdmin);
    const child = core.own([first], "child", true);
    const target = { definition: configMaps, ...home, name: "child" };
    core.operations.update(target, { ...child, metadata: { ...child.metadata, finalizers: ["a/b"] } }, asAdmin);
    core.operations.delete(owner, { propagationPolicy: "Foreground" }, asAdmin);
    core.clock.advance(0);
    expect(core.operations.get(owner).metadata.finalizers).toEqual(["foregroundDeletion"]);
    expect(core.operations.get(target).metadata.deletionTimestamp).toBeDefined();
    core.operations.patch(target, { kind: "merge", body: { metadata: { finalizers: null } } }, asAdmin);
    core.clock.advance(0);
    expect(names(core)).toEqual([]);
    expect(() => core.operations.get(owner)).toThrow("not found");
  });

  it("keeps dependents without an owner reference in an orphaning deletion", () => {
    const core = started();
    const first = core.operations.create(owner, aWidget("owner"), asAdmin);
    core.own([first], "child");
    core.operations.delete(owner, { propagationPolicy: "Orphan" }, asAdmin);
    core.clock.advance(0);
    expect(() => core.operations.get(owner)).toThrow("not found");
    expect(core.store.list("configmaps")[0]?.metadata.ownerReferences).toBeUndefined();
  });

  it("writes nothing without a change", () => {
    const core = started();
    const first = core.operations.create(owner, aWidget("owner"), asAdmin);
    core.own([first], "child");
    core.clock.advance(0);
    const { revision } = core.store;
    core.clock.advance(3_600_000);
    expect(core.store.revision).toBe(revision);
    expect(core.clock.pending).toBe(0);
  });
});
