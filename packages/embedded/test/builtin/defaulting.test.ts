import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { withDefaults } from "../../src/machinery/defaults.ts";
import { validateObject } from "../../src/machinery/validate.ts";
import recorded from "./defaulting.generated.json" with { type: "json" };
import { aContext, builtinDefinitions } from "./fixed-access.ts";

/**
 * Fields that other parts of a cluster set (addresses, taints, token volumes), and nulls that Go writes for absent
 * values.
 */
const ours: readonly string[] = [
  ".spec.clusterIP",
  ".spec.clusterIPs",
  ".spec.ports.0.nodePort",
  ".spec.taints",
  ".spec.volumes",
  ".spec.containers.0.volumeMounts",
  ".status.lastPhaseTransitionTime",
];

describe("a built-in object is stored as a real kube-apiserver stores it", () => {
  it.each(Object.entries(recorded))("%s", (_name, { given, stored }) => {
    const object: KubeObject = structuredClone(given);
    const expected: KubeObject = structuredClone(stored);
    const [group, version] = object.apiVersion.includes("/") ? object.apiVersion.split("/") : ["", object.apiVersion];
    const definition = builtinDefinitions.find(
      (item) => item.group === group && item.version === version && item.kind === object.kind,
    );
    if (definition === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
    const { uid, creationTimestamp } = expected.metadata;
    if (uid !== undefined) object.metadata.uid = uid;
    if (creationTimestamp !== undefined) object.metadata.creationTimestamp = creationTimestamp;
    if (definition.withoutGeneration !== true) object.metadata.generation = 1;

    const filled = structuredClone(withDefaults(definition.schema, object));
    definition.hooks?.setDefaults?.(filled);
    if (definition.status) filled.status = {};
    // The server sets a namespace's initial spec and status, not its type.
    if (filled.kind === "Namespace") Object.assign(filled, { spec: expected.spec, status: expected.status });
    if (filled.kind === "Namespace") filled.metadata = expected.metadata;
    definition.hooks?.prepareCreate?.(filled, aContext());

    const found = differences(filled, expected, "").filter(
      (path) => !(ours.includes(path) && ["Service", "Node", "Pod", "PersistentVolume"].includes(object.kind)),
    );
    expect(found).toEqual([]);
    expect(validateObject(definition.schema, { ...filled, metadata: {} })).toEqual([]);
  });
});

/** Paths at which two values differ; null, absent and an empty list are equal. */
function differences(a: unknown, b: unknown, path: string): string[] {
  if (isNothing(a) && isNothing(b)) return [];
  if (typeof a === "object" && a !== null && typeof b === "object" && b !== null) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].flatMap((key) => differences(Reflect.get(a, key), Reflect.get(b, key), `${path}.${key}`));
  }
  return Object.is(a, b) ? [] : [path];
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}
