import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, test } from "vitest";
import { ApiFailure } from "../../src/machinery/api-errors.ts";
import type { Schema } from "../../src/machinery/schema.ts";
import { strategicMerge } from "../../src/machinery/strategic-patch.ts";
import { deploymentSchema } from "./sample-schemas.ts";

const containers = [
  {
    name: "a",
    image: "a:1",
    args: ["x"],
    ports: [
      { containerPort: 80, protocol: "TCP" },
      { containerPort: 81, protocol: "TCP" },
    ],
    env: [
      { name: "A", value: "1" },
      { name: "B", value: "2" },
    ],
  },
  { name: "b", image: "b:1" },
  { name: "c", image: "c:1" },
];
const [a, b, c] = containers;
const live: KubeObject = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", labels: { x: "1", y: "2" }, finalizers: ["x.io/a", "x.io/b", "x.io/c"] },
  spec: {
    replicas: 2,
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } },
    template: { spec: { containers, tolerations: [{ key: "k" }] } },
  },
};
const inPod = (spec: object): object => ({ spec: { template: { spec } } });
const failure = (act: () => unknown): unknown => {
  try {
    return act();
  } catch (error) {
    return error instanceof ApiFailure ? [error.status.code, error.message] : error;
  }
};

describe("strategic merge patches of built-in types", () => {
  const cases: Record<string, { patch: object; expected: object }> = {
    "set and remove fields": {
      patch: { spec: { replicas: 5 }, metadata: { labels: { x: null, z: "3" } } },
      expected: { spec: { replicas: 5 }, metadata: { labels: { y: "2", z: "3" } } },
    },
    "merge a list by its key": {
      patch: inPod({ containers: [{ name: "b", image: "b:2" }] }),
      expected: inPod({ containers: [a, { name: "b", image: "b:2" }, c] }),
    },
    "put a new item before those that only the server has": {
      patch: inPod({ containers: [{ name: "d", image: "d" }] }),
      expected: inPod({ containers: [{ name: "d", image: "d" }, a, b, c] }),
    },
    "delete an item": {
      patch: inPod({ containers: [{ name: "b", $patch: "delete" }] }),
      expected: inPod({ containers: [a, c] }),
    },
    "replace a list": {
      patch: inPod({ containers: [{ $patch: "replace" }, { name: "z", image: "z" }] }),
      expected: inPod({ containers: [{ name: "z", image: "z" }] }),
    },
    "put a list in order": {
      patch: inPod({
        "$setElementOrder/containers": [{ name: "c" }, { name: "a" }],
        containers: [{ name: "a", image: "a:9" }],
      }),
      expected: inPod({ containers: [b, c, { ...a, image: "a:9" }] }),
    },
    "merge lists inside of lists": {
      patch: inPod({ containers: [{ name: "a", env: [{ name: "B", value: "3" }] }] }),
      expected: inPod({ containers: [{ ...a, env: [containers[0]?.env?.[0], { name: "B", value: "3" }] }, b, c] }),
    },
    "know ports by their number alone": {
      patch: inPod({ containers: [{ name: "a", ports: [{ containerPort: 81, $patch: "delete" }] }] }),
      expected: inPod({ containers: [{ ...a, ports: [containers[0]?.ports?.[0]] }, b, c] }),
    },
    "replace lists without a key": {
      patch: inPod({ tolerations: [{ key: "n" }], containers: [{ name: "a", args: ["y"] }] }),
      expected: inPod({ tolerations: [{ key: "n" }], containers: [{ ...a, args: ["y"] }, b, c] }),
    },
    "add to a set": {
      patch: { metadata: { finalizers: ["x.io/d"] } },
      expected: { metadata: { finalizers: ["x.io/d", "x.io/a", "x.io/b", "x.io/c"] } },
    },
    "take from a set": {
      patch: { metadata: { "$deleteFromPrimitiveList/finalizers": ["x.io/b"] } },
      expected: { metadata: { finalizers: ["x.io/a", "x.io/c"] } },
    },
    "order, add and take in one": {
      patch: {
        metadata: {
          "$setElementOrder/finalizers": ["x.io/c", "x.io/d", "x.io/a"],
          "$deleteFromPrimitiveList/finalizers": ["x.io/b"],
          finalizers: ["x.io/d"],
        },
      },
      expected: { metadata: { finalizers: ["x.io/c", "x.io/d", "x.io/a"] } },
    },
    "retain only some keys": {
      patch: { spec: { strategy: { $retainKeys: ["type"], type: "Recreate" } } },
      expected: { spec: { strategy: { type: "Recreate" } } },
    },
    "replace a map": {
      patch: { spec: { strategy: { $patch: "replace", type: "Recreate" } } },
      expected: { spec: { strategy: { type: "Recreate" } } },
    },
    "empty a map": { patch: { metadata: { labels: { $patch: "delete" } } }, expected: { metadata: { labels: {} } } },
    "leave directives out of what is new": {
      patch: inPod({ nodeSelector: { a: "b", n: null }, affinity: { $patch: "replace", x: 1 } }),
      expected: inPod({ nodeSelector: { a: "b" } }),
    },
  };
  test.each(Object.entries(cases))("%s", (_, { patch, expected }) => {
    const given = [structuredClone(live), structuredClone(patch)];
    expect(strategicMerge(deploymentSchema, live, patch, "builtin")).toMatchObject(expected);
    expect([live, patch]).toEqual(given);
  });

  test("a removed map leaves no empty object", () => {
    expect(strategicMerge(deploymentSchema, live, { spec: { strategy: null } }, "builtin").spec).not.toHaveProperty(
      "strategy",
    );
  });

  // Codes and messages of a real server.
  const refused: Record<string, { patch: unknown; code: number; message: string }> = {
    "a list": {
      patch: [1],
      code: 400,
      message: "json: cannot unmarshal array into Go value of type map[string]interface {}",
    },
    "an unknown directive": {
      patch: { metadata: { labels: { $patch: "zz" } } },
      code: 500,
      message: "unknown patch type: zz in map: map[$patch:zz]",
    },
    "an item without its key": {
      patch: inPod({ containers: [{ image: "b:2" }] }),
      code: 500,
      message: "map: map[image:b:2] does not contain declared merge key: name",
    },
    "an order that is no list": {
      patch: { metadata: { "$setElementOrder/finalizers": 5 } },
      code: 500,
      message: "expected a []interface {}, but received a int64",
    },
    "keys to retain that are no list": {
      patch: { metadata: { $retainKeys: 5 } },
      code: 400,
      message: "invalid patch format of retainKeys",
    },
    "a field that is not among those to retain": {
      patch: { metadata: { $retainKeys: ["name"], labels: { a: "b" } } },
      code: 400,
      message: "invalid patch format of retainKeys",
    },
    "a deletion of no list in particular": {
      patch: { metadata: { $deleteFromPrimitiveList: ["x"] } },
      code: 400,
      message: "invalid patch format of primitive list",
    },
  };
  test.each(Object.entries(refused))("%s is refused", (_, { patch, code, message }) => {
    expect(failure(() => strategicMerge(deploymentSchema, live, patch, "builtin"))).toEqual([code, message]);
  });

  test("a null patch changes nothing", () => {
    expect(strategicMerge(deploymentSchema, live, null, "builtin")).toBe(live);
  });
});

describe("strategic merge patches of types bound from an export", () => {
  const preserved: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const schema: Schema = {
    type: "object",
    properties: {
      spec: {
        ...preserved,
        properties: {
          replicas: { type: "integer" },
          strategy: { type: "object", properties: { type: { type: "string" } } },
          selector: preserved,
          list: { type: "array", items: { type: "object", properties: { name: { type: "string" } } } },
          labels: { type: "object", additionalProperties: { type: "string" } },
        },
      },
    },
  };
  const bound: KubeObject = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", labels: { x: "1" }, finalizers: ["x.io/a"] },
    spec: {
      replicas: 1,
      strategy: { type: "A" },
      selector: { matchLabels: { a: "b" }, l: [1] },
      list: [{ name: "a" }, { name: "b" }],
      labels: { a: "b" },
      template: { spec: { containers: [{ name: "a" }] } },
      undescribed: [1],
    },
  };

  const cases: Record<string, { patch: object; expected: object }> = {
    "set described scalars": {
      patch: { spec: { replicas: 2 } },
      expected: { spec: { ...Object(bound.spec), replicas: 2 } },
    },
    "replace described lists": {
      patch: { spec: { list: [{ name: "c" }] } },
      expected: { spec: { ...Object(bound.spec), list: [{ name: "c" }] } },
    },
    "merge described maps": {
      patch: { spec: { labels: { c: "d" }, selector: { x: "y" } } },
      expected: {
        spec: {
          ...Object(bound.spec),
          labels: { a: "b", c: "d" },
          selector: { matchLabels: { a: "b" }, l: [1], x: "y" },
        },
      },
    },
    "take what is new": {
      patch: { spec: { extra: { a: 1 } } },
      expected: { spec: { ...Object(bound.spec), extra: { a: 1 } } },
    },
    "replace the lists of metadata too": {
      patch: { metadata: { labels: { y: "2" }, finalizers: ["x.io/b"] } },
      expected: { metadata: { name: "web", labels: { x: "1", y: "2" }, finalizers: ["x.io/b"] } },
    },
  };
  test.each(Object.entries(cases))("%s", (_, { patch, expected }) => {
    expect(strategicMerge(schema, bound, patch, "bound")).toEqual({ ...bound, ...expected });
  });

  // Messages of a real kcp.
  const refused: Record<string, { patch: object; message: string }> = {
    "a map that is not described": {
      patch: { spec: { template: { spec: {} } } },
      message: 'unable to find api field "template" in io/api/apps.k8s.v1.Deployment.spec',
    },
    "a list that is not described": {
      patch: { spec: { undescribed: [2] } },
      message: 'unable to find api field "undescribed" in io/api/apps.k8s.v1.Deployment.spec',
    },
    "a map inside of one that may hold anything": {
      patch: { spec: { selector: { matchLabels: { c: "d" } } } },
      message: "expected kind, but got map",
    },
    "a list inside of a map that may hold anything": {
      patch: { spec: { selector: { l: [2] } } },
      message: "expected slice, but got map",
    },
  };
  test.each(Object.entries(refused))("%s makes it fail and loses nothing", (_, { patch, message }) => {
    expect(failure(() => strategicMerge(schema, bound, patch, "bound"))).toEqual([500, message]);
  });

  test("the definition name of a group with dots is reversed", () => {
    const ingress = { ...bound, apiVersion: "networking.k8s.io/v1", kind: "Ingress" };
    expect(failure(() => strategicMerge(schema, ingress, { spec: { template: {} } }, "bound"))).toEqual([
      500,
      'unable to find api field "template" in io.k8s.networking.v1.Ingress.spec',
    ]);
  });
});
