import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import type { StorageChange } from "../../src/storage/store.ts";
import {
  aConfigMap,
  aDefinition,
  aNamespace,
  asAdmin,
  aWidget,
  configMaps,
  createTestCore,
  deployments,
  namespaces,
  pods,
  type TestCore,
  widgets,
} from "../support/test-core.ts";

const home = { logicalCluster: "", namespace: "default" };
const aDeployment = (changes: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  spec: { replicas: 1 },
  ...changes,
  metadata: { name: "web", ...changes.metadata },
});
const aPod = (spec: object = {}, metadata: KubeObject["metadata"] = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "Pod",
  spec,
  metadata: { name: "p", ...metadata },
});

/** Records all changes of the store from now on. */
function changesOf({ store }: TestCore): string[] {
  const seen: string[] = [];
  store.subscribe(({ type, key, object }: StorageChange) => {
    seen.push(`${type} ${key.name}${object.metadata.deletionTimestamp === undefined ? "" : " deleting"}`);
  });
  return seen;
}

describe("creating", () => {
  it("sets uid, creationTimestamp, resourceVersion, generation and managed fields", () => {
    const { operations, clock } = createTestCore();
    const { metadata, spec } = operations.create({ definition: widgets, ...home }, aWidget("a"), asAdmin);
    expect(metadata).toMatchObject({
      name: "a",
      namespace: "default",
      creationTimestamp: new Date(clock.now()).toISOString().replace(".000", ""),
      resourceVersion: "2",
      generation: 1,
    });
    expect(metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(metadata.managedFields).toMatchObject([{ manager: "test", operation: "Update", apiVersion: "ex.io/v1" }]);
    expect(spec).toEqual({ replicas: 1, size: "m" });
  });

  it("ignores fields that only the server may set", () => {
    const { operations } = createTestCore();
    const forged = {
      uid: "mine",
      resourceVersion: "77",
      creationTimestamp: "2001-01-01T00:00:00Z",
      deletionTimestamp: "2001-01-01T00:00:00Z",
      generation: 9,
    };
    const { metadata, status } = operations.create(
      { definition: widgets, ...home },
      aWidget("a", { metadata: forged, status: { replicas: 7 } }),
      asAdmin,
    );
    expect(metadata.uid).not.toBe("mine");
    expect(metadata.creationTimestamp).not.toBe("2001-01-01T00:00:00Z");
    expect(metadata).toMatchObject({ resourceVersion: "2", generation: 1 });
    expect(metadata.deletionTimestamp).toBeUndefined();
    expect(status).toBeUndefined();
  });

  it("generates unused names, the same ones in every run", () => {
    const name = (core: TestCore) =>
      core.operations.create(
        { definition: configMaps, ...home },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "gen-" } },
        asAdmin,
      ).metadata.name;
    const core = createTestCore();
    const made = [name(core), name(core), name(core)];
    for (const one of made) expect(one).toMatch(/^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(new Set(made).size).toBe(3);
    expect(name(createTestCore())).toBe(made[0]);
  });

  it("stores nothing in a dry run", () => {
    const core = createTestCore();
    const dry = core.operations.create({ definition: widgets, ...home }, aWidget("a"), { ...asAdmin, dryRun: true });
    expect(dry.metadata.uid).toBeDefined();
    expect(dry.metadata.resourceVersion).toBeUndefined();
    expect(core.store.revision).toBe(1);
  });

  it("drops unknown fields with a warning", () => {
    const { operations } = createTestCore();
    const warnings: string[] = [];
    const { spec } = operations.create(
      { definition: widgets, ...home },
      aWidget("a", { spec: { replicas: 1, foo: 2 } }),
      { ...asAdmin, warn: (message) => warnings.push(message) },
    );
    expect(spec).toEqual({ replicas: 1, size: "m" });
    expect(warnings).toEqual(['unknown field "spec.foo"']);
  });

  it("lets hooks change and reject objects, and their fields have no owner", () => {
    const hooked = aDefinition({
      group: "ex.io",
      plural: "hooked",
      kind: "Hooked",
      hooks: {
        setDefaults: (object) => {
          object.spec = { given: true };
        },
        prepareCreate: (object) => {
          object.data = { set: "by hook" };
        },
      },
    });
    const { operations } = createTestCore([namespaces, hooked]);
    const made = operations.create(
      { definition: hooked, ...home },
      { apiVersion: "ex.io/v1", kind: "Hooked", metadata: { name: "h" } },
      asAdmin,
    );
    expect(made).toMatchObject({ data: { set: "by hook" }, spec: { given: true } });
    const owned = JSON.stringify(made.metadata.managedFields);
    expect(owned).toContain("f:given");
    expect(owned).not.toContain("f:data");
  });
});

describe("updating", () => {
  const cases: Record<
    string,
    { definition: typeof widgets; first: KubeObject; change: Partial<KubeObject>; generation: number | undefined }
  > = {
    "counts a generation for a change of what is wanted": {
      definition: widgets,
      first: aWidget("a"),
      change: { spec: { replicas: 2 } },
      generation: 2,
    },
    "counts none for labels": {
      definition: widgets,
      first: aWidget("a"),
      change: { metadata: { labels: { a: "b" } } },
      generation: 1,
    },
    "counts none for annotations of most types": {
      definition: widgets,
      first: aWidget("a"),
      change: { metadata: { annotations: { a: "b" } } },
      generation: 1,
    },
    "counts one for annotations of a deployment": {
      definition: deployments,
      first: aDeployment(),
      change: { metadata: { annotations: { a: "b" } } },
      generation: 2,
    },
    "counts none where a type has no generations": {
      definition: configMaps,
      first: aConfigMap("a"),
      change: { data: { a: "z" } },
      generation: undefined,
    },
  };
  for (const [rule, { definition, first, change, generation }] of Object.entries(cases)) {
    it(rule, () => {
      const { operations } = createTestCore();
      const old = operations.create({ definition, ...home }, first, asAdmin);
      const name = old.metadata.name ?? "";
      const changed = { ...old, ...change, metadata: { ...old.metadata, ...change.metadata } };
      const { metadata } = operations.update({ definition, ...home, name }, changed, asAdmin);
      expect(metadata.generation).toBe(generation);
      expect(metadata.resourceVersion).toBe("3");
      expect(metadata.uid).toBe(old.metadata.uid);
    });
  }

  it("writes nothing and notifies nobody without a change", () => {
    const core = createTestCore();
    const target = { definition: widgets, ...home, name: "a" };
    const old = core.operations.create(target, aWidget("a"), asAdmin);
    const seen = changesOf(core);
    core.clock.advance(5000);
    expect(core.operations.update(target, old, asAdmin)).toBe(old);
    expect(core.operations.patch(target, { kind: "merge", body: { spec: { replicas: 1 } } }, asAdmin).object).toBe(old);
    expect(seen).toEqual([]);
  });

  it("separates spec and status", () => {
    const { operations } = createTestCore();
    const target = { definition: widgets, ...home, name: "a" };
    const old = operations.create(target, aWidget("a"), asAdmin);
    const both = { ...old, spec: { replicas: 5 }, status: { replicas: 4 }, metadata: { ...old.metadata } };
    const reported = operations.update(target, both, { ...asAdmin, subresource: "status" });
    expect(reported).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 4 }, metadata: { generation: 1 } });
    const wanted = operations.update(
      target,
      { ...both, status: { replicas: 9 }, metadata: reported.metadata },
      asAdmin,
    );
    expect(wanted).toMatchObject({ spec: { replicas: 5 }, status: { replicas: 4 }, metadata: { generation: 2 } });
  });

  it("accepts a built-in object without a resourceVersion", () => {
    const { operations } = createTestCore();
    const target = { definition: configMaps, ...home, name: "x" };
    operations.create(target, aConfigMap("x"), asAdmin);
    expect(operations.update(target, aConfigMap("x", { data: { a: "c" } }), asAdmin).data).toEqual({ a: "c" });
  });

  it("scales through the scale subresource", () => {
    const { operations } = createTestCore();
    const target = { definition: widgets, ...home, name: "a" };
    const old = operations.create(target, aWidget("a"), asAdmin);
    const scale = (replicas: number): KubeObject => ({
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "a" },
      spec: { replicas },
    });
    expect(operations.update(target, scale(3), { ...asAdmin, subresource: "scale" })).toEqual({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      metadata: {
        name: "a",
        namespace: "default",
        uid: old.metadata.uid,
        resourceVersion: "3",
        creationTimestamp: old.metadata.creationTimestamp,
      },
      spec: { replicas: 3 },
      status: { replicas: 0 },
    });
    expect(operations.get(target)).toMatchObject({ spec: { replicas: 3 }, metadata: { generation: 2 } });
  });

  it("creates objects by apply, and removes fields that are no longer applied", () => {
    const { operations } = createTestCore();
    const target = { definition: widgets, ...home, name: "z" };
    const apply = (spec: object) =>
      operations.patch(target, { kind: "apply", body: aWidget("z", { spec }) }, { ...asAdmin, fieldManager: "m" });
    expect(apply({ replicas: 2, size: "l" })).toMatchObject({ created: true, object: { metadata: { generation: 1 } } });
    expect(apply({ size: "l" })).toMatchObject({ created: false, object: { spec: { size: "l" } } });
    expect(operations.get(target).spec).toEqual({ size: "l" });
    expect(operations.get(target).metadata.managedFields).toMatchObject([{ manager: "m", operation: "Apply" }]);
  });

  it("serves every version of an object with its own apiVersion", () => {
    const older = { ...widgets, version: "v1alpha1" };
    const { operations } = createTestCore([namespaces, widgets, older]);
    operations.create({ definition: widgets, ...home }, aWidget("a"), asAdmin);
    const target = { definition: older, ...home, name: "a" };
    expect(operations.get(target).apiVersion).toBe("ex.io/v1alpha1");
    expect(operations.list({ definition: older, ...home }).items[0]?.apiVersion).toBe("ex.io/v1alpha1");
    expect(operations.get({ ...target, definition: widgets }).apiVersion).toBe("ex.io/v1");
  });
});

describe("deleting", () => {
  it("returns the deleted object", () => {
    const core = createTestCore();
    const target = { definition: widgets, ...home, name: "a" };
    const { metadata } = core.operations.create(target, aWidget("a"), asAdmin);
    const seen = changesOf(core);
    expect(core.operations.delete(target, {}, asAdmin)).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Success",
      details: { name: "a", group: "ex.io", kind: "widgets", uid: metadata.uid },
    });
    expect(seen).toEqual(["DELETED a"]);
  });

  it("waits for finalizers, increments the generation, and completes with the last one", () => {
    const core = createTestCore();
    const target = { definition: widgets, ...home, name: "a" };
    core.operations.create(target, aWidget("a", { metadata: { finalizers: ["a/b", "c/d"] } }), asAdmin);
    const seen = changesOf(core);
    const waiting = core.operations.delete(target, {}, asAdmin);
    expect(waiting).toMatchObject({
      kind: "Widget",
      metadata: { generation: 2, deletionGracePeriodSeconds: 0, deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    expect(core.operations.delete(target, {}, asAdmin)).toEqual(waiting);
    const withFinalizers = (finalizers: string[] | null) =>
      core.operations.patch(target, { kind: "merge", body: { metadata: { finalizers } } }, asAdmin).object;
    expect(withFinalizers(["c/d"]).metadata.finalizers).toEqual(["c/d"]);
    expect(withFinalizers(null).metadata.deletionTimestamp).toBeDefined();
    expect(() => core.operations.get(target)).toThrow('widgets.ex.io "a" not found');
    expect(seen).toEqual(["MODIFIED a deleting", "MODIFIED a deleting", "DELETED a deleting"]);
  });

  it("adds a finalizer for a foreground or orphaning deletion", () => {
    for (const [propagationPolicy, finalizer] of [
      ["Foreground", "foregroundDeletion"],
      ["Orphan", "orphan"],
    ] as const) {
      const { operations } = createTestCore();
      const target = { definition: widgets, ...home, name: "a" };
      operations.create(target, aWidget("a"), asAdmin);
      expect(operations.delete(target, { propagationPolicy }, asAdmin)).toMatchObject({
        metadata: { finalizers: [finalizer] },
      });
    }
  });

  it("gives a pod on a node a grace period, which can be shortened but not extended", () => {
    const core = createTestCore();
    const target = { definition: pods, ...home, name: "p" };
    core.operations.create(target, aPod({ nodeName: "n", terminationGracePeriodSeconds: 20 }), asAdmin);
    const metadataAfter = (gracePeriodSeconds?: number) => {
      const result = core.operations.delete(target, { gracePeriodSeconds }, asAdmin);
      return "metadata" in result ? result.metadata : undefined;
    };
    expect(metadataAfter()).toMatchObject({
      deletionGracePeriodSeconds: 20,
      deletionTimestamp: "2026-01-01T00:00:20Z",
    });
    expect(metadataAfter(60)).toMatchObject({ deletionGracePeriodSeconds: 20 });
    expect(metadataAfter(5)).toMatchObject({
      deletionGracePeriodSeconds: 5,
      deletionTimestamp: "2026-01-01T00:00:05Z",
    });
    metadataAfter(0);
    expect(core.store.list("pods")).toEqual([]);
  });

  it("deletes a pod without a node at once", () => {
    const core = createTestCore();
    const target = { definition: pods, ...home, name: "p" };
    core.operations.create(target, aPod(), asAdmin);
    const seen = changesOf(core);
    expect(core.operations.delete(target, {}, asAdmin)).toMatchObject({ kind: "Pod", metadata: { name: "p" } });
    expect(seen).toEqual(["MODIFIED p deleting", "DELETED p deleting"]);
  });

  it("deletes the selected objects, and returns them", () => {
    const { operations, store } = createTestCore();
    for (const [name, app] of [
      ["a", "x"],
      ["b", "y"],
      ["c", "x"],
    ] as const) {
      operations.create(
        { definition: configMaps, ...home },
        aConfigMap(name, { metadata: { labels: { app } } }),
        asAdmin,
      );
    }
    const gone = operations.deleteCollection(
      { definition: configMaps, ...home },
      { labelSelector: "app=x" },
      {},
      asAdmin,
    );
    expect(gone.items.map(({ metadata }) => metadata.name)).toEqual(["a", "c"]);
    expect(store.list("configmaps").map(({ metadata }) => metadata.name)).toEqual(["b"]);
  });

  it("marks a namespace as terminating, and keeps it until its content is deleted", () => {
    const { operations } = createTestCore();
    const target = { definition: namespaces, logicalCluster: "", name: "team" };
    expect(operations.create(target, aNamespace("team"), asAdmin)).toMatchObject({
      metadata: { labels: { "kubernetes.io/metadata.name": "team" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
    expect(operations.delete(target, {}, asAdmin)).toMatchObject({
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" },
      status: { phase: "Terminating" },
    });
    const emptied = { ...operations.get(target), spec: { finalizers: [] } };
    operations.update(target, emptied, { ...asAdmin, subresource: "finalize" });
    expect(() => operations.get(target)).toThrow('namespaces "team" not found');
  });
});

describe("watching", () => {
  it("reports an object that stops matching as deleted, and one that starts matching as added", () => {
    const { operations } = createTestCore();
    const target = { definition: configMaps, ...home };
    const seen: string[] = [];
    const stop = operations.watch(target, { labelSelector: "app=x" }, ({ type, object, revision }) => {
      seen.push(`${type} ${object.metadata.labels?.app} ${object.metadata.resourceVersion} ${revision}`);
    });
    const label = (app: string) =>
      operations.patch({ ...target, name: "a" }, { kind: "merge", body: { metadata: { labels: { app } } } }, asAdmin);
    operations.create(target, aConfigMap("a", { metadata: { labels: { app: "y" } } }), asAdmin);
    label("x");
    label("z");
    label("x");
    operations.delete({ ...target, name: "a" }, {}, asAdmin);
    stop();
    operations.create(target, aConfigMap("b", { metadata: { labels: { app: "x" } } }), asAdmin);
    expect(seen).toEqual(["ADDED x 3 3", "DELETED x 4 4", "ADDED x 5 5", "DELETED x 6 6"]);
  });

  it("reports only objects that the API root shows", () => {
    const { operations } = createTestCore();
    const target = { definition: configMaps, ...home };
    const seen: (string | undefined)[] = [];
    operations.watch(target, { visible: ({ metadata }) => metadata.name !== "hidden" }, ({ object }) => {
      seen.push(object.metadata.name);
    });
    operations.create(target, aConfigMap("hidden"), asAdmin);
    operations.create(target, aConfigMap("shown"), asAdmin);
    expect(seen).toEqual(["shown"]);
  });
});

it("two equal runs create equal objects, including uids", () => {
  const run = () => {
    const core = createTestCore();
    core.operations.create({ definition: widgets, ...home }, aWidget("a"), asAdmin);
    core.clock.advance(1500);
    core.operations.create({ definition: configMaps, ...home }, aConfigMap("", { metadata: { name: "b" } }), asAdmin);
    return JSON.stringify([core.store.list("widgets.ex.io"), core.store.list("configmaps")]);
  };
  expect(run()).toBe(run());
});
