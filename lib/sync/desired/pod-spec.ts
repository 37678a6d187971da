import { type Fields, isFields, valueAt } from "../../model/json.ts";

/** Where objects keep the pods that they want: a CronJob one level further down than all others. */
const podSpecPaths: readonly (readonly string[])[] = [
  ["spec", "template", "spec"],
  ["spec", "jobTemplate", "spec", "template", "spec"],
];

/**
 * The way to the pod spec in an object that has a pod template; undefined for one that has none. It goes by the form and
 * not by the kind, so that custom types with a pod template are found too.
 */
export function podSpecPath(object: unknown): readonly string[] | undefined {
  return podSpecPaths.find((path) => Array.isArray(valueAt(object, ...path, "containers")));
}

/** The pod spec in an object that has a pod template; undefined for one that has none. */
export function podSpecOf(object: unknown): Fields | undefined {
  const path = podSpecPath(object);
  const spec = path === undefined ? undefined : valueAt(object, ...path);
  return isFields(spec) ? spec : undefined;
}
