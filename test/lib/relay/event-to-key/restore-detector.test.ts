import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import { createRestoreDetector, versionNumber } from "../../../../lib/relay/event-to-key/restore-detector.ts";

const seen = new Map([
  ["a", { version: 90 }],
  ["b", { version: 100 }],
]);
const list = (resourceVersion: string | undefined, versions: Readonly<Record<string, string>>) => ({
  objects: Object.entries(versions).map(
    ([name, version]): KubeObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, resourceVersion: version },
    }),
  ),
  idOf: ({ metadata }: KubeObject) => metadata.name ?? "",
  resourceVersion,
});

describe("a detector of restores", () => {
  const rows: [string, ReturnType<typeof list>, boolean][] = [
    ["with the same versions", list("100", { a: "90", b: "100" }), false],
    ["with newer versions", list("120", { a: "111", b: "120", c: "112" }), false],
    ["without a known object", list("120", { a: "90" }), false],
    ["that is older than a known object", list("99", { a: "90" }), true],
    ["with an object that went back, although the revision was bumped", list("5000", { a: "40", b: "100" }), true],
    ["without a version, with an object that went back", list(undefined, { a: "40" }), true],
    ["with versions that have no order", list("x-1", { a: "x", b: "y" }), false],
  ];
  test.each(rows)("a list %s", (_, evidence, isRestored) => {
    expect(createRestoreDetector().isRestored(seen, evidence)).toBe(isRestored);
  });

  test("gives messages no version that was used before the restore", () => {
    const detector = createRestoreDetector();
    expect(["95", "x-1", undefined].map(detector.messageVersion)).toEqual(["95", "x-1", undefined]);
    detector.isRestored(seen, list("50", {}));
    expect(["95", "100", "101", "x-1"].map(detector.messageVersion)).toEqual([undefined, undefined, "101", "x-1"]);
  });

  test("reads versions as numbers, and 0 for anything without an order", () => {
    expect(["17", "x", "", undefined, "99999999999999999999"].map(versionNumber)).toEqual([17, 0, 0, 0, 0]);
  });
});
