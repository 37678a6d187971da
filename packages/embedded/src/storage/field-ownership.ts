import type { KubeObject, ManagedFieldsEntry } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { trackUpdate } from "../machinery/managed-fields.ts";
import type { WriteContext } from "./operations.ts";
import { keepsStatusOnCreate } from "./operations-core.ts";
import { servedApiVersion } from "./selection.ts";

type Writer = Pick<WriteContext, "fieldManager"> & Readonly<{ subresource?: string | undefined }>;

/** Computes the managed fields after a write; the writer owns the fields it changed. */
export function trackedFields(
  definition: ResourceDefinition,
  old: KubeObject | undefined,
  object: KubeObject,
  { fieldManager = "unknown", subresource }: Writer,
  now: string,
): ManagedFieldsEntry[] {
  const entries = trackUpdate({
    schema: definition.schema,
    ...(old === undefined ? {} : { old }),
    object,
    manager: fieldManager,
    ...(subresource === undefined ? {} : { subresource }),
    apiVersion: servedApiVersion(definition),
    now,
    reset: unsettableFields(definition, subresource),
  });
  // Entries of the scale subresource have no time.
  return subresource === "scale" ? entries.map(withoutScaleTime) : entries;
}

function withoutScaleTime(entry: ManagedFieldsEntry): ManagedFieldsEntry {
  if (entry.subresource !== "scale") return entry;
  const { time: _time, ...rest } = entry;
  return rest;
}

/** Fields that a write through a subresource (or none) cannot set and therefore cannot own. */
export function unsettableFields(
  definition: ResourceDefinition,
  subresource: string | undefined,
): readonly (readonly string[])[] {
  if (subresource === "status")
    return [["spec"], definition.flavor === "builtin" ? ["metadata", "labels"] : ["metadata"]];
  return subresource === undefined && definition.status && !keepsStatusOnCreate(definition) ? [["status"]] : [];
}

/** Sets metadata.managedFields, or removes it if there are no entries. */
export function setManagedFields(object: KubeObject, entries: readonly ManagedFieldsEntry[]): void {
  if (entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries.map((entry) => ({ ...entry }));
}
