import { isDeepStrictEqual } from "node:util";
import { byKey } from "@tmc/kube/compare.ts";
import type { ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { PodTemplate } from "../kinds.ts";

export const templateHashLabel = "pod-template-hash";

/** Hash of a template, in the characters that Kubernetes uses for generated names. */
export function hashTemplate(template: unknown, collisions = 0): string {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${stableText(template)}${collisions === 0 ? "" : collisions}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  }
  return [...String(hash)].map((digit) => safeLetters[digit.charCodeAt(0) % safeLetters.length]).join("");
}

/** Whether two templates are equal except for the hash label. */
export function sameTemplate(a: PodTemplate, b: PodTemplate): boolean {
  return isDeepStrictEqual(withoutHash(a), withoutHash(b));
}

// Without vowels and similar characters, so that names do not form words.
const safeLetters = "bcdfghjklmnpqrstvwxz2456789";

function withoutHash(template: PodTemplate): PodTemplate {
  const { creationTimestamp: _, ...metadata }: ObjectMeta = template.metadata ?? {};
  const { [templateHashLabel]: _hash, ...labels } = metadata.labels ?? {};
  return { ...template, metadata: { ...metadata, labels } };
}

function stableText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stableText).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  return `{${Object.entries(value)
    .filter(([, each]) => each !== undefined)
    .toSorted(byKey)
    .map(([key, each]) => `${JSON.stringify(key)}:${stableText(each)}`)
    .join(",")}}`;
}
