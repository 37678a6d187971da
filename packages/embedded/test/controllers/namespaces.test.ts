import { describe, expect, it } from "vitest";
import { startNamespaceController } from "../../src/controllers/namespaces.ts";
import {
  aConfigMap,
  aNamespace,
  asAdmin,
  aWidget,
  configMaps,
  createTestCore,
  namespaces,
  type TestCore,
  widgets,
} from "../support/test-core.ts";

const team = { definition: namespaces, logicalCluster: "", name: "team" };
const inTeam = { logicalCluster: "", namespace: "team" };

function started(): TestCore {
  const core = createTestCore();
  startNamespaceController({ ...core, catalogOf: () => core.catalog });
  core.operations.create(team, aNamespace("team"), asAdmin);
  return core;
}

describe("a namespace that is deleted", () => {
  it("is removed after all its objects", () => {
    const { operations, store, clock } = started();
    operations.create({ definition: configMaps, ...inTeam }, aConfigMap("a"), asAdmin);
    operations.create({ definition: widgets, ...inTeam }, aWidget("b"), asAdmin);
    operations.create({ definition: configMaps, logicalCluster: "", namespace: "default" }, aConfigMap("c"), asAdmin);
    operations.delete(team, {}, asAdmin);
    expect(store.list("configmaps")).toHaveLength(2);
    clock.advance(0);
    expect(store.list("configmaps").map(({ metadata }) => metadata.name)).toEqual(["c"]);
    expect(store.list("widgets.ex.io")).toEqual([]);
    expect(store.list("namespaces").map(({ metadata }) => metadata.name)).toEqual(["default"]);
  });

  it("waits for objects with finalizers, and names them in a condition", () => {
    const { operations, store, clock } = started();
    const target = { definition: widgets, ...inTeam, name: "b" };
    operations.create(target, aWidget("b", { metadata: { finalizers: ["a/b"] } }), asAdmin);
    operations.delete(team, {}, asAdmin);
    clock.advance(0);
    expect(operations.get(team)).toMatchObject({
      status: {
        phase: "Terminating",
        conditions: expect.arrayContaining([
          expect.objectContaining({
            type: "NamespaceContentRemaining",
            status: "True",
            message: "Some resources are remaining: widgets.ex.io has 1 resource instances",
          }),
          expect.objectContaining({
            type: "NamespaceFinalizersRemaining",
            message: "Some content in the namespace has finalizers remaining: a/b in 1 resource instances",
          }),
        ]),
      },
    });
    const revision = store.revision;
    clock.advance(60_000);
    expect(store.revision).toBe(revision);
    operations.patch(target, { kind: "merge", body: { metadata: { finalizers: null } } }, asAdmin);
    clock.advance(0);
    expect(() => operations.get(team)).toThrow('namespaces "team" not found');
  });

  it("waits for its own finalizers", () => {
    const { operations, clock } = started();
    operations.patch(team, { kind: "merge", body: { metadata: { finalizers: ["a/b"] } } }, asAdmin);
    operations.delete(team, {}, asAdmin);
    clock.advance(0);
    expect(operations.get(team).spec).toEqual({ finalizers: [] });
    operations.patch(team, { kind: "merge", body: { metadata: { finalizers: null } } }, asAdmin);
    expect(() => operations.get(team)).toThrow();
  });
});
