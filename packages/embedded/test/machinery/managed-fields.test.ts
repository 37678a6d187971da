import type { KubeObject, ManagedFieldsEntry } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import { trackUpdate } from "../../src/machinery/managed-fields.ts";
import { deploymentSchema, thingSchema } from "./sample-schemas.ts";

const deployment = (spec: object, metadata: object = {}, more: object = {}): KubeObject => ({
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default", uid: "u", resourceVersion: "1", generation: 1, ...metadata },
  spec,
  ...more,
});
const thing = (spec: object, more: object = {}): KubeObject => ({
  apiVersion: "x.io/v1",
  kind: "Thing",
  metadata: { name: "t" },
  spec,
  ...more,
});

type Write = { old?: KubeObject; object: KubeObject; manager?: string; subresource?: string; now?: string };
const track = ({ manager = "m1", now = "2024-01-01T00:00:00Z", ...write }: Write): ManagedFieldsEntry[] =>
  trackUpdate({
    schema: write.object.kind === "Thing" ? thingSchema : deploymentSchema,
    apiVersion: write.object.apiVersion,
    manager,
    now,
    ...write,
  });
const managed = (object: KubeObject, write: Omit<Write, "object"> = {}): KubeObject => ({
  ...object,
  metadata: { ...object.metadata, managedFields: track({ ...write, object }) },
});
const changed = (object: KubeObject, change: object): KubeObject => ({ ...object, ...change });
const byManager = (entries: readonly ManagedFieldsEntry[]): object =>
  Object.fromEntries(entries.map(({ manager, fieldsV1 }) => [manager, fieldsV1]));

describe("the managed fields after a write", () => {
  test("a creator owns all fields that it set, except the identity of the object", () => {
    expect(
      track({
        object: deployment(
          { replicas: 1, template: { spec: { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] } } },
          { labels: { app: "x" }, finalizers: ["x.io/a"] },
        ),
      }),
    ).toEqual([
      {
        manager: "m1",
        operation: "Update",
        apiVersion: "apps/v1",
        time: "2024-01-01T00:00:00Z",
        fieldsType: "FieldsV1",
        fieldsV1: {
          "f:metadata": { "f:finalizers": { ".": {}, 'v:"x.io/a"': {} }, "f:labels": { ".": {}, "f:app": {} } },
          "f:spec": {
            "f:replicas": {},
            "f:template": {
              "f:spec": {
                "f:containers": {
                  'k:{"name":"a"}': {
                    ".": {},
                    "f:name": {},
                    "f:ports": {
                      ".": {},
                      'k:{"containerPort":80,"protocol":"TCP"}': { ".": {}, "f:containerPort": {} },
                    },
                  },
                },
              },
            },
          },
        },
      },
    ]);
  });

  test("a creator of a custom type owns all of its fields", () => {
    expect(byManager(track({ object: thing({ location: "a", any: { x: { y: [1] } }, list: [{ k: "1" }] }) }))).toEqual({
      m1: {
        "f:spec": {
          ".": {},
          "f:any": { ".": {}, "f:x": { ".": {}, "f:y": {} } },
          "f:list": {},
          "f:location": {},
        },
      },
    });
  });

  test("a changed field gets a new owner and a new time", () => {
    const old = managed(thing({ location: "a", tier: "x" }));
    const object = changed(old, { spec: { location: "b", tier: "x" } });
    expect(track({ old, object, manager: "m2", now: "2024-01-02T00:00:00Z" })).toEqual([
      expect.objectContaining({
        manager: "m1",
        time: "2024-01-01T00:00:00Z",
        fieldsV1: { "f:spec": { ".": {}, "f:tier": {} } },
      }),
      expect.objectContaining({
        manager: "m2",
        time: "2024-01-02T00:00:00Z",
        fieldsV1: { "f:spec": { "f:location": {} } },
      }),
    ]);
  });

  test("a removed field has no owner, and its removal changes no time", () => {
    const old = managed(thing({ location: "a", tier: "x" }));
    const entries = track({ old, object: changed(old, { spec: { location: "a" } }), now: "2024-01-02T00:00:00Z" });
    expect(entries).toEqual([
      expect.objectContaining({ time: "2024-01-01T00:00:00Z", fieldsV1: { "f:spec": { ".": {}, "f:location": {} } } }),
    ]);
  });

  test("a write without a change keeps the entries", () => {
    const old = managed(thing({ location: "a" }));
    expect(track({ old, object: structuredClone(old), manager: "m2", now: "2024-01-02T00:00:00Z" })).toEqual(
      old.metadata.managedFields,
    );
  });

  test("a manager has one entry with all its fields", () => {
    const old = managed(thing({ location: "a" }));
    const object = changed(old, { spec: { location: "a", tier: "x" } });
    expect(track({ old, object, now: "2024-01-02T00:00:00Z" })).toEqual([
      expect.objectContaining({
        time: "2024-01-02T00:00:00Z",
        fieldsV1: { "f:spec": { ".": {}, "f:location": {}, "f:tier": {} } },
      }),
    ]);
  });

  test("status is owned through its subresource only", () => {
    const old = managed(thing({ location: "a" }));
    const object = changed(old, { status: { n: 1, conditions: [{ type: "Ready", status: "True" }] } });
    expect(track({ old, object, manager: "m2" })).toEqual(old.metadata.managedFields);
    expect(track({ old, object, manager: "m2", subresource: "status" }).at(-1)).toEqual({
      manager: "m2",
      operation: "Update",
      apiVersion: "x.io/v1",
      time: "2024-01-01T00:00:00Z",
      fieldsType: "FieldsV1",
      fieldsV1: {
        "f:status": {
          ".": {},
          "f:conditions": { ".": {}, 'k:{"type":"Ready"}': { ".": {}, "f:status": {}, "f:type": {} } },
          "f:n": {},
        },
      },
      subresource: "status",
    });
  });

  test("a status write owns no other fields of its object", () => {
    const old = managed(thing({ location: "a" }));
    const object = changed(old, { metadata: { ...old.metadata, labels: { a: "b" } }, spec: { location: "b" } });
    expect(track({ old, object, manager: "m2", subresource: "status" })).toEqual(old.metadata.managedFields);
  });

  test.each([[[]], [[{}]]])("entries that are set to %o are removed and stay empty", (managedFields) => {
    const old = managed(thing({ location: "a" }));
    const object = changed(old, { metadata: { ...old.metadata, managedFields } });
    expect(track({ old, object })).toEqual([]);
    const later = { ...thing({ location: "a" }), metadata: { name: "t", uid: "u" } };
    expect(track({ old: later, object: changed(later, { spec: { location: "b" } }) })).toEqual([]);
  });

  test("a client that omits managed fields does not remove them", () => {
    const old = managed(thing({ location: "a" }));
    const object = { ...old, metadata: { name: "t" } };
    expect(track({ old, object })).toEqual(old.metadata.managedFields);
  });

  test("a client may edit managed fields", () => {
    const old = managed(thing({ location: "a" }));
    const entries = (old.metadata.managedFields ?? []).map((entry) => ({ ...entry, manager: "renamed" }));
    const object = { ...old, metadata: { ...old.metadata, managedFields: entries } };
    expect(track({ old, object })).toEqual(entries);
  });

  test("the oldest of more than ten update entries are merged", () => {
    let object = managed(thing({ location: "a" }), { manager: "m0" });
    for (let day = 1; day <= 12; day += 1) {
      const next = changed(object, { spec: { location: "a", any: { ...Object(object.spec).any, [`f${day}`]: day } } });
      const now = `2024-01-${String(day + 1).padStart(2, "0")}T00:00:00Z`;
      object = managed(next, { old: object, manager: `m${day}`, now });
    }
    const entries = object.metadata.managedFields ?? [];
    expect(entries.map(({ manager }) => manager)).toEqual([
      "ancient-changes",
      ...[4, 5, 6, 7, 8, 9, 10, 11, 12].map((n) => `m${n}`),
    ]);
    expect(entries[0]?.time).toBe("2024-01-04T00:00:00Z");
  });
});
