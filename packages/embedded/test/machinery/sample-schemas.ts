import type { Schema } from "../../src/machinery/schema.ts";

const text: Schema = { type: "string" };
const fields = (properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});
const texts: Schema = { type: "object", additionalProperties: text };
const mergedBy = (key: string, item: Schema): Schema => ({
  type: "array",
  items: item,
  "x-kubernetes-list-type": "map",
  "x-kubernetes-list-map-keys": [key],
  "x-kubernetes-patch-merge-key": key,
  "x-kubernetes-patch-strategy": "merge",
});
const names: Schema = {
  type: "array",
  items: text,
  "x-kubernetes-list-type": "set",
  "x-kubernetes-patch-strategy": "merge",
};

const metadata = fields(
  {
    name: text,
    namespace: text,
    labels: texts,
    annotations: texts,
    finalizers: names,
    ownerReferences: mergedBy("uid", fields({ uid: text, name: text }, { "x-kubernetes-map-type": "atomic" })),
  },
  { default: {} },
);

const port = fields(
  { containerPort: { type: "integer" }, protocol: { ...text, default: "TCP" }, name: text },
  { required: ["containerPort"] },
);

const container = fields(
  {
    name: text,
    image: text,
    args: { type: "array", items: text, "x-kubernetes-list-type": "atomic" },
    env: mergedBy("name", fields({ name: text, value: text }, { required: ["name"] })),
    ports: {
      ...mergedBy("containerPort", port),
      "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
    },
  },
  { required: ["name"] },
);

/** The part of a Deployment's schema that patches and ownership need. */
export const deploymentSchema: Schema = fields({
  apiVersion: text,
  kind: text,
  metadata,
  spec: fields(
    {
      replicas: { type: "integer", format: "int32" },
      paused: { type: "boolean" },
      selector: fields({ matchLabels: texts }, { "x-kubernetes-map-type": "atomic" }),
      strategy: fields(
        { type: text, rollingUpdate: fields({ maxSurge: { "x-kubernetes-int-or-string": true } }) },
        {
          default: {},
          "x-kubernetes-patch-strategy": "retainKeys",
        },
      ),
      template: fields(
        {
          metadata,
          spec: fields(
            {
              containers: mergedBy("name", container),
              tolerations: {
                type: "array",
                items: fields({ key: text, operator: text }),
                "x-kubernetes-list-type": "atomic",
              },
              nodeSelector: { ...texts, "x-kubernetes-map-type": "atomic" },
            },
            { default: {}, required: ["containers"] },
          ),
        },
        { default: {} },
      ),
    },
    { default: {}, required: ["selector", "template"] },
  ),
  status: fields(
    {
      replicas: { type: "integer" },
      conditions: mergedBy("type", fields({ type: text, status: text }, { required: ["type"] })),
    },
    { default: {} },
  ),
});

/** A custom type with every construct of a structural schema. */
export const thingSchema: Schema = fields(
  {
    apiVersion: text,
    kind: text,
    metadata: { type: "object" },
    spec: fields(
      {
        location: { type: "string", minLength: 1, maxLength: 5, pattern: "^[a-z]+$" },
        strategy: { type: "string", enum: ["Affinity", "RoundRobin", "Spread"] },
        level: { type: "integer", enum: [1, 2] },
        replicas: { type: "integer", format: "int32", minimum: 1, maximum: 10 },
        ratio: { type: "number", minimum: 0.5, exclusiveMinimum: true, multipleOf: 0.5 },
        port: { "x-kubernetes-int-or-string": true },
        enabled: { type: "boolean", default: true },
        note: { type: "string", nullable: true },
        tier: { type: "string", default: "low" },
        list: {
          type: "array",
          minItems: 1,
          maxItems: 2,
          items: fields({ k: text, d: { type: "integer", default: 3 } }),
        },
        map: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["type"],
          items: fields({ type: text, v: text }, { required: ["type"] }),
        },
        pairs: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["port", "proto"],
          items: fields(
            { port: { type: "integer" }, proto: { type: "string", default: "TCP" } },
            { required: ["port"] },
          ),
        },
        set: { type: "array", "x-kubernetes-list-type": "set", items: text },
        labels: { type: "object", additionalProperties: text, minProperties: 1, maxProperties: 2 },
        parts: { type: "object", additionalProperties: fields({ a: { type: "integer", default: 1 } }) },
        any: {
          type: "object",
          "x-kubernetes-preserve-unknown-fields": true,
          properties: { known: fields({ a: text }) },
        },
        resource: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          properties: { spec: fields({ a: text }) },
        },
        since: { type: "string", format: "date-time" },
        address: { type: "string", format: "ipv4" },
        hint: { type: "string", format: "no-such-format" },
        one: fields({ a: text, b: text }, { oneOf: [{ required: ["a"] }, { required: ["b"] }] }),
        some: fields({ a: text, b: text }, { anyOf: [{ required: ["a"] }, { required: ["b"] }] }),
        both: { type: "string", allOf: [{ minLength: 2 }, { pattern: "^a" }] },
        but: { type: "string", not: { enum: ["bad"] } },
        deep: fields({ inner: fields({ z: { type: "string", default: "zz" } }, { default: {} }) }, { default: {} }),
      },
      { required: ["location"] },
    ),
    status: fields({
      n: { type: "integer" },
      conditions: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        items: fields({ type: text, status: text }, { required: ["type"] }),
      },
    }),
  },
  { required: ["spec"] },
);
