import { type Field, text } from "./schema.ts";

/** The name of a cluster-scoped object of ours, the form that Kubernetes asks of a resource name. */
export function objectName(description: string): Field<string> {
  return text(description, {
    minLength: 1,
    maxLength: 253,
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
  });
}

/** What a cluster can offer, in one word: compute, storage, networking, gpu … */
export function capabilityType(description: string): Field<string> {
  return text(description, {
    minLength: 1,
    maxLength: 63,
    pattern: "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$",
  });
}
