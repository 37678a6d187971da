import type { Schema } from "./schema.ts";

const text: Schema = { type: "string" };
const texts: Schema = { type: "object", additionalProperties: text };
const time: Schema = { type: "string", format: "date-time" };

/** The schema of `metadata`, for types whose own schema does not describe it. */
export const objectMetaSchema: Schema = {
  type: "object",
  properties: {
    annotations: texts,
    creationTimestamp: time,
    deletionGracePeriodSeconds: { type: "integer", format: "int64" },
    deletionTimestamp: time,
    finalizers: {
      type: "array",
      items: text,
      "x-kubernetes-list-type": "set",
      "x-kubernetes-patch-strategy": "merge",
    },
    generateName: text,
    generation: { type: "integer", format: "int64" },
    labels: texts,
    managedFields: {
      type: "array",
      "x-kubernetes-list-type": "atomic",
      items: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
    name: text,
    namespace: text,
    ownerReferences: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["uid"],
      "x-kubernetes-patch-merge-key": "uid",
      "x-kubernetes-patch-strategy": "merge",
      items: {
        type: "object",
        "x-kubernetes-map-type": "atomic",
        required: ["apiVersion", "kind", "name", "uid"],
        properties: {
          apiVersion: text,
          blockOwnerDeletion: { type: "boolean" },
          controller: { type: "boolean" },
          kind: text,
          name: text,
          uid: text,
        },
      },
    },
    resourceVersion: text,
    selfLink: text,
    uid: text,
  },
};
