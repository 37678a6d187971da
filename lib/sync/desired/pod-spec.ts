import { type Fields, isFields, valueAt } from "@tmc/kube/json.ts";

/** Where objects have their pod spec: in a CronJob it is one level deeper. */
const podSpecPaths: readonly (readonly string[])[] = [
  ["spec", "template", "spec"],
  ["spec", "jobTemplate", "spec", "template", "spec"],
];

/**
 * The path to the pod spec of an object with a pod template; undefined for other objects. The structure decides, not the kind,
 * so that custom types with a pod template are recognized.
 */
export function podSpecPath(object: unknown): readonly string[] | undefined {
  return podSpecPaths.find((path) => Array.isArray(valueAt(object, ...path, "containers")));
}

/** The pod spec of an object with a pod template; undefined for other objects. */
export function podSpecOf(object: unknown): Fields | undefined {
  const path = podSpecPath(object);
  const spec = path === undefined ? undefined : valueAt(object, ...path);
  return isFields(spec) ? spec : undefined;
}
