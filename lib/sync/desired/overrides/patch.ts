import { type Fields, isFields, without } from "../../../model/json-fields.ts";
import type { Manifest } from "../../sync-objects.ts";
import { forbidden } from "./forbidden.ts";
import { withMarks, withoutMark } from "./marks.ts";
import { refuse } from "./refuse.ts";

/** One change of a field; its value is rendered already. */
export type Patch = Readonly<{ op: "add" | "replace" | "remove"; path: string; value?: unknown }>;

/**
 * The manifest with one field changed, as JSON patch has it, with two differences that let a patch be followed any number
 * of times: a field that is to be removed may be missing, and lists get no more and no fewer items.
 */
export function withPatch(manifest: Manifest, patch: Patch, where: string): Manifest {
  const path = patch.path
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  const [field = "", part, key = ""] = path;
  const why = forbidden(path);
  if (why !== undefined) refuse(where, why);
  if (patch.op !== "remove" && patch.value === undefined) refuse(where, `${patch.op} needs a value`);

  if (field === "metadata" && (part === "labels" || part === "annotations")) {
    if (patch.op === "remove") return withoutMark(manifest, part, key);
    if (typeof patch.value !== "string") refuse(where, "the value of a label or an annotation is a text");
    if (patch.op === "replace" && !Object.hasOwn(manifest.metadata[part] ?? {}, key)) refuse(where, missing(path));
    return withMarks(manifest, part, { [key]: patch.value }, where);
  }
  const { apiVersion, kind, metadata } = manifest;
  return { ...changed(manifest, path, { patch, where, done: [] }), apiVersion, kind, metadata };
}

type Step = Readonly<{ patch: Patch; where: string; done: readonly string[] }>;

/** Changes what is in an object; what is on the way is made anew, all else is shared. */
function changed(fields: Fields, [name = "", ...rest]: readonly string[], step: Step): Fields {
  const { patch, where } = step;
  const done = [...step.done, name];
  const isThere = Object.hasOwn(fields, name);
  if (rest.length > 0) {
    if (!isThere) refuse(where, missing(done));
    return { ...fields, [name]: changedWithin(fields[name], rest, { ...step, done }) };
  }
  if (patch.op === "remove") return without(fields, name);
  if (patch.op === "replace" && !isThere) refuse(where, missing(done));
  return { ...fields, [name]: patch.value };
}

function changedWithin(value: unknown, path: readonly string[], step: Step): unknown {
  if (isFields(value)) return changed(value, path, step);
  if (Array.isArray(value)) return changedItem(value, path, step);
  return refuse(step.where, missing([...step.done, path[0] ?? ""]));
}

function changedItem(list: readonly unknown[], [place = "", ...rest]: readonly string[], step: Step): unknown {
  const { patch, where } = step;
  const done = [...step.done, place];
  const index = /^(0|[1-9][0-9]*)$/.test(place) ? Number(place) : undefined;
  if (rest.length === 0 && patch.op !== "replace") {
    refuse(where, `${patch.op} would change the list each time that it is followed; give the whole list instead`);
  }
  if (index === undefined || index >= list.length) return refuse(where, missing(done));
  return list.with(index, rest.length === 0 ? patch.value : changedWithin(list[index], rest, { ...step, done }));
}

function missing(path: readonly string[]): string {
  const text = path.map((step) => `/${step.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
  return `there is no ${text}`;
}
