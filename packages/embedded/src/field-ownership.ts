import type { KubeObject, ManagedFieldsEntry } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "./definition.ts";
import { trackUpdate } from "./machinery/managed-fields.ts";
import type { WriteContext } from "./operations.ts";
import { keepsStatusOnCreate } from "./operations-core.ts";
import { apiVersionOf } from "./selection.ts";

type Writer = Pick<WriteContext, "fieldManager"> & Readonly<{ subresource?: string | undefined }>;

/** Who owns which field once the write is done, the writer with what it has changed. */
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
    apiVersion: apiVersionOf(definition),
    now,
    reset: unsettable(definition, subresource),
  });
  // Who scales is noted without a time.
  return subresource === "scale" ? entries.map(withoutScaleTime) : entries;
}

function withoutScaleTime(entry: ManagedFieldsEntry): ManagedFieldsEntry {
  if (entry.subresource !== "scale") return entry;
  const { time: _time, ...rest } = entry;
  return rest;
}

/** What a write through a subresource (or none) cannot set, and therefore cannot own. */
export function unsettable(
  definition: ResourceDefinition,
  subresource: string | undefined,
): readonly (readonly string[])[] {
  if (subresource === "status")
    return [["spec"], definition.flavour === "builtin" ? ["metadata", "labels"] : ["metadata"]];
  return subresource === undefined && definition.status && !keepsStatusOnCreate(definition) ? [["status"]] : [];
}

/** Notes in an object who owns its fields; where nobody does, nothing is noted. */
export function setManagedFields(object: KubeObject, entries: readonly ManagedFieldsEntry[]): void {
  if (entries.length === 0) delete object.metadata.managedFields;
  else object.metadata.managedFields = entries.map((entry) => ({ ...entry }));
}
