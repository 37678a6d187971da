import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import type { KubeObject } from "@tmc/kube/kube-object.ts";

type Shown = Readonly<Pick<KubeObject, "apiVersion" | "kind"> & { metadata: object; [field: string]: unknown }>;

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * A Secret without what it holds: in place of every value stands a text that is the same for the same value, and only under
 * the same key. With a new key each time nobody can try out values against what was printed. Anything else stays as it is.
 */
export function maskedSecret<T extends Shown>(object: T, key: string): T {
  if (object.kind !== "Secret" || object.apiVersion !== "v1") return object;
  const { data, stringData, metadata, ...rest } = object;
  const masked = {
    ...valuesOf(data, (text) => Buffer.from(text, "base64"), key),
    ...valuesOf(stringData, Buffer.from, key),
  };
  // Only the fields that hold values differ, and those are of any type in it.
  return {
    ...rest,
    metadata: withoutCopy(metadata),
    ...(Object.keys(masked).length === 0 ? {} : { data: masked }),
  } as unknown as T;
}

function valuesOf(values: unknown, bytesOf: (text: string) => Buffer, key: string): Readonly<Record<string, string>> {
  if (typeof values !== "object" || values === null) return {};
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const bytes = bytesOf(typeof value === "string" ? value : JSON.stringify(value));
      const hash = createHmac("sha256", key).update(bytes).digest("hex").slice(0, 12);
      return [name, `*** ${hash}`];
    }),
  );
}

/** kubectl keeps a second copy of the whole in an annotation. */
function withoutCopy(metadata: object): object {
  if (!("annotations" in metadata) || typeof metadata.annotations !== "object" || metadata.annotations === null) {
    return metadata;
  }
  const annotations = Object.entries(metadata.annotations).filter(([name]) => name !== lastApplied);
  return { ...metadata, annotations: Object.fromEntries(annotations) };
}
