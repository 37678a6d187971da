import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, textsAt } from "../../machinery/fields.ts";
import { logicalClusterOf } from "../directory.ts";
import type { ControllerWorld } from "./world.ts";

/**
 * Returns the conflict message if a type cannot be bound because its names collide with another type of the same group.
 */
export function namingConflict(
  { directory, store }: ControllerWorld,
  binding: KubeObject,
  schema: KubeObject,
): string | undefined {
  const logicalCluster = logicalClusterOf(binding);
  for (const other of directory.bindings(logicalCluster)) {
    if (other.metadata.name === binding.metadata.name) continue;
    for (const resource of listAt(other, "status", "boundResources")) {
      const bound = directory.schema(
        textAt(other, "status", "apiExportClusterName"),
        textAt(resource, "schema", "name"),
      );
      const details = bound === undefined ? undefined : sharedName(bound, schema);
      if (details === undefined) continue;
      const path = textAt(other, "spec", "reference", "export", "path");
      const name = textAt(other, "spec", "reference", "export", "name");
      const boundTo = path === "" ? `local APIExport "${name}"` : `APIExport ${path}:${name}`;
      return `naming conflict with APIBinding "${other.metadata.name ?? ""}" bound to ${boundTo}: ${details}`;
    }
  }
  for (const crd of store.list("customresourcedefinitions.apiextensions.k8s.io", { logicalCluster })) {
    const details = sharedName(crd, schema);
    if (details !== undefined) {
      return `naming conflict with CustomResourceDefinition "${crd.metadata.name ?? ""}": ${details}`;
    }
  }
  return undefined;
}

function sharedName(existing: KubeObject, incoming: KubeObject): string | undefined {
  if (textAt(existing, "spec", "group") !== textAt(incoming, "spec", "group")) return undefined;
  const name = (object: KubeObject, field: string): string => textAt(object, "spec", "names", field);
  const taken = [
    name(existing, "plural"),
    name(existing, "singular"),
    ...textsAt(existing, "spec", "names", "shortNames"),
  ];
  const kinds = [name(existing, "kind"), name(existing, "listKind")];
  const shortNames = textsAt(incoming, "spec", "names", "shortNames");
  const isTaken = (list: readonly string[], value: string): boolean => value !== "" && list.includes(value);
  if (isTaken(taken, name(incoming, "plural"))) return `spec.names.plural=${name(incoming, "plural")} is forbidden`;
  if (isTaken(taken, name(incoming, "singular")))
    return `spec.names.singular=${name(incoming, "singular")} is forbidden`;
  if (shortNames.some((item) => isTaken(taken, item)))
    return `spec.names.shortNames=[${shortNames.join(" ")}] is forbidden`;
  if (isTaken(kinds, name(incoming, "kind"))) return `spec.names.kind=${name(incoming, "kind")} is forbidden`;
  if (isTaken(kinds, name(incoming, "listKind")))
    return `spec.names.listKind=${name(incoming, "listKind")} is forbidden`;
  return undefined;
}
