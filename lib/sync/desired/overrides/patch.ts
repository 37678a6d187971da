import { ControllerError } from "@tmc/kube/fault.ts";
import { type Fields, isFields } from "@tmc/kube/json.ts";
import { labelKeyErrors, labelValueErrors } from "@tmc/kube/selector.ts";
import { group } from "../../../api/group.ts";
import { type Texts, without } from "../../../model/json.ts";
import type { Manifest } from "../../sync-objects.ts";

/** A change of one field; its value is rendered already. */
export type OverridePatch = Readonly<{ op: "add" | "replace" | "remove"; path: string; value?: unknown }>;

/**
 * Applies a JSON patch operation to a manifest, with two differences that make it idempotent: a field to remove may be
 * missing, and no items are added to lists or removed from them.
 */
export function withPatch(manifest: Manifest, patch: OverridePatch, location: string): Manifest {
  const path = patch.path
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [field = "", part, key = ""] = path;
  const forbiddenReason = forbiddenPathReason(path);
  if (forbiddenReason !== undefined) rejectOverride(location, forbiddenReason);
  if (patch.op !== "remove" && patch.value === undefined) rejectOverride(location, `${patch.op} needs a value`);

  if (field === "metadata" && (part === "labels" || part === "annotations")) {
    if (patch.op === "remove") return withoutMetadata(manifest, part, key);
    if (typeof patch.value !== "string") {
      rejectOverride(location, "the value of a label or an annotation must be a string");
    }
    if (patch.op === "replace" && !Object.hasOwn(manifest.metadata[part] ?? {}, key)) {
      rejectOverride(location, missingPath(path));
    }
    return withMetadata(manifest, part, { [key]: patch.value }, location);
  }
  const { apiVersion, kind, metadata } = manifest;
  return { ...changeField(manifest, path, { patch, location, parents: [] }), apiVersion, kind, metadata };
}

/** The operation, its location in the override, and the path above the current value. */
type PatchContext = Readonly<{ patch: OverridePatch; location: string; parents: readonly string[] }>;

/** Changes a field below an object; objects on the path are copied, all others are shared. */
function changeField(fields: Fields, [name = "", ...rest]: readonly string[], context: PatchContext): Fields {
  const { patch, location } = context;
  const parents = [...context.parents, name];
  const isThere = Object.hasOwn(fields, name);
  if (rest.length > 0) {
    if (!isThere) rejectOverride(location, missingPath(parents));
    return { ...fields, [name]: changeValue(fields[name], rest, { ...context, parents }) };
  }
  if (patch.op === "remove") return without(fields, name);
  if (patch.op === "replace" && !isThere) rejectOverride(location, missingPath(parents));
  return { ...fields, [name]: patch.value };
}

function changeValue(value: unknown, path: readonly string[], context: PatchContext): unknown {
  if (isFields(value)) return changeField(value, path, context);
  if (Array.isArray(value)) return changeItem(value, path, context);
  return rejectOverride(context.location, missingPath([...context.parents, path[0] ?? ""]));
}

function changeItem(
  list: readonly unknown[],
  [segment = "", ...rest]: readonly string[],
  context: PatchContext,
): unknown {
  const { patch, location } = context;
  const parents = [...context.parents, segment];
  const index = /^(0|[1-9][0-9]*)$/.test(segment) ? Number(segment) : undefined;
  if (rest.length === 0 && patch.op !== "replace") {
    rejectOverride(location, `${patch.op} would change the list each time it is applied; set the whole list instead`);
  }
  if (index === undefined || index >= list.length) return rejectOverride(location, missingPath(parents));
  return list.with(index, rest.length === 0 ? patch.value : changeValue(list[index], rest, { ...context, parents }));
}

function missingPath(path: readonly string[]): string {
  const text = path.map((segment) => `/${segment.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return `there is no ${text}`;
}

/** Whether the key of a label or an annotation is one by which TMC recognizes its copies. */
function isReservedKey(key: string): boolean {
  const slash = key.lastIndexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  return domain === group || domain.endsWith(`.${group}`);
}

/** Why a path must not be changed; undefined when it may. */
function forbiddenPathReason(path: readonly string[]): string | undefined {
  const [field = "", part, key] = path;
  if (field === "apiVersion" || field === "kind") return `${field} cannot be changed`;
  if (field === "status") return "only the cluster writes the status";
  if (field !== "metadata") return undefined;
  // Other metadata identifies the copy or, like finalizers, prevents its deletion.
  if ((part !== "labels" && part !== "annotations") || path.length !== 3 || key === undefined) {
    return "only single labels and annotations of the metadata can be changed";
  }
  return isReservedKey(key) ? `${JSON.stringify(key)} is reserved for TMC` : undefined;
}

/** Reports which part of which override cannot be applied; only a change of the placement helps. */
export function rejectOverride(location: string, reason: string): never {
  throw new ControllerError("invalid", `${location}: ${reason}`);
}

type MetadataPart = "labels" | "annotations";

/** Sets labels or annotations of a manifest; rejects invalid ones and those that are reserved for TMC. */
export function withMetadata(manifest: Manifest, part: MetadataPart, entries: Texts, location: string): Manifest {
  for (const [key, value] of Object.entries(entries)) {
    const at = `${location}: ${JSON.stringify(key)}`;
    if (isReservedKey(key)) rejectOverride(at, "is reserved for TMC");
    const problems = [...labelKeyErrors(key), ...(part === "labels" ? labelValueErrors(value) : [])];
    if (problems.length > 0) rejectOverride(at, problems.join("; "));
  }
  const { metadata } = manifest;
  return { ...manifest, metadata: { ...metadata, [part]: { ...metadata[part], ...entries } } };
}

function withoutMetadata(manifest: Manifest, part: MetadataPart, key: string): Manifest {
  const { metadata } = manifest;
  const entries = metadata[part];
  if (entries === undefined || !Object.hasOwn(entries, key)) return manifest;
  const rest = Object.entries(entries).filter(([name]) => name !== key);
  return { ...manifest, metadata: { ...metadata, [part]: Object.fromEntries(rest) } };
}
