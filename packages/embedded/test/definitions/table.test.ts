import { describe, expect, it } from "vitest";
import type { PrinterColumn, ResourceDefinition } from "../../src/definitions/definition.ts";
import { findByJsonPath, formatDuration, isJsonPath, toTable } from "../../src/definitions/table.ts";
import { definitionOf } from "../builtin/fixed-access.ts";

const now = Date.parse("2026-11-16T12:00:00Z");
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

describe("formatDuration", () => {
  const cases: [number, string][] = [
    [-2 * second, "<invalid>"],
    [-second, "0s"],
    [0, "0s"],
    [119 * second, "119s"],
    [2 * minute, "2m"],
    [5 * minute + 30 * second, "5m30s"],
    [10 * minute + 30 * second, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [3 * hour + 5 * minute, "3h5m"],
    [8 * hour + 5 * minute, "8h"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [3 * day + 4 * hour, "3d4h"],
    [8 * day + 4 * hour, "8d"],
    [729 * day, "729d"],
    [730 * day, "2y"],
    [800 * day, "2y70d"],
    [8 * 365 * day + 5 * day, "8y"],
  ];
  it.each(cases)("formats %i ms as %s", (duration, text) => {
    expect(formatDuration(duration)).toBe(text);
  });
});

describe("findByJsonPath", () => {
  const object = {
    spec: { replicas: 3, list: ["a", "b"], "a.b": 1, nested: { "x-y": true } },
    status: {
      conditions: [
        { type: "Synced", status: "False" },
        { type: "Ready", status: "True", n: 5 },
      ],
    },
  };
  const cases: [string, unknown[]][] = [
    [".spec.replicas", [3]],
    ["{.spec.replicas}", [3]],
    ["$.spec.replicas", [3]],
    [".spec.list[0]", ["a"]],
    [".spec.list[-1]", ["b"]],
    [".spec.list[*]", ["a", "b"]],
    [".spec['a.b']", [1]],
    [".spec.a\\.b", [1]],
    [".spec.nested.x-y", [true]],
    ['.status.conditions[?(@.type=="Ready")].status', ["True"]],
    [".status.conditions[?(@.type == 'Ready')].status", ["True"]],
    ['.status.conditions[?(@.type!="Ready")].type', ["Synced"]],
    [".status.conditions[?(@.n>4)].type", ["Ready"]],
    [".status.conditions[?(@.n)].type", ["Ready"]],
    [".spec.nothing.here", []],
    [".constructor", []],
  ];
  it.each(cases)("finds the value of %s", (path, found) => {
    expect(findByJsonPath(object, path)).toEqual(found);
  });

  it.each(["spec.replicas", ".spec[", ".a..b", ".a[?(b)]"])("rejects %s as a path", (path) => {
    expect(isJsonPath(path)).toBe(false);
  });
});

function aCustomType(columns: readonly PrinterColumn[]): ResourceDefinition {
  return { ...definitionOf("ConfigMap"), flavor: "custom", columns };
}

const gadget = {
  apiVersion: "example.com/v1",
  kind: "Gadget",
  metadata: { name: "a", creationTimestamp: "2026-11-16T11:55:00Z" },
  spec: { replicas: 3.7, labels: { a: "b" }, paused: true, since: "2026-11-13T08:00:00Z", never: "soon" },
};

describe("toTable", () => {
  const cells: [PrinterColumn["type"], string, unknown][] = [
    ["integer", ".spec.replicas", 3],
    ["number", ".spec.replicas", 3.7],
    ["string", ".spec.replicas", "3.7"],
    ["string", ".spec.labels", '{"a":"b"}'],
    ["boolean", ".spec.paused", true],
    ["boolean", ".spec.replicas", null],
    ["date", ".spec.since", "3d4h"],
    ["date", ".spec.never", "<invalid>"],
    ["string", ".spec.nothing", null],
  ];
  it.each(cells)("shows a custom column of type %s for %s", (type, jsonPath, cell) => {
    const table = toTable(aCustomType([{ name: "X", type, jsonPath }]), [gadget], { now });
    expect(table.rows[0]?.cells).toEqual(["a", cell]);
  });

  it("shows name and age of a type without columns", () => {
    const table = toTable(aCustomType([]), [gadget], { now });
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(["Name", "Age"]);
    expect(table.rows[0]?.cells).toEqual(["a", "5m"]);
  });

  it("includes the requested form of the object in each row", () => {
    const rowWith = (includeObject: "None" | "Metadata" | "Object") =>
      toTable(aCustomType([]), [gadget], { now, includeObject }).rows[0]?.object;
    expect(rowWith("None")).toBeUndefined();
    expect(rowWith("Object")).toEqual(gadget);
    expect(rowWith("Metadata")).toEqual({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: gadget.metadata,
    });
  });

  it("omits the columns in later watch events", () => {
    const table = toTable(aCustomType([]), [gadget], { now, withoutColumns: true, listMeta: { resourceVersion: "7" } });
    expect(table.columnDefinitions).toEqual([]);
    expect(table.metadata).toEqual({ resourceVersion: "7" });
  });
});
