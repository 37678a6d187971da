import { ControllerError } from "@tmc/kube/fault.ts";
import { labelKeyProblems, labelValueProblems } from "@tmc/kube/selector.ts";
import { group } from "../../../api/group.ts";
import { type Fields, isFields, type Texts, without } from "../../../model/json.ts";
import type { Manifest } from "../../sync-objects.ts";

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

/** Tells whether a label or an annotation is one of TMC's own, by which it knows its copies. */
export function isOwnKey(key: string): boolean {
  const slash = key.lastIndexOf("/");
  const domain = slash < 0 ? "" : key.slice(0, slash);
  return domain === group || domain.endsWith(`.${group}`);
}

/** Why nothing may be changed at a path; undefined when something may. */
export function forbidden(path: readonly string[]): string | undefined {
  const [field = "", part, key] = path;
  if (field === "apiVersion" || field === "kind") return `${field} says what it is`;
  if (field === "status") return "the status is the cluster's to write";
  if (field !== "metadata") return undefined;
  // All else in the metadata says what the copy is, or keeps it from being removed.
  if ((part !== "labels" && part !== "annotations") || path.length !== 3 || key === undefined) {
    return "of the metadata only single labels and annotations can be changed";
  }
  return isOwnKey(key) ? `${JSON.stringify(key)} is TMC's own` : undefined;
}

/** Says which part of which override cannot be followed; only a change of the placement helps. */
export function refuse(where: string, why: string): never {
  throw new ControllerError("invalid", `${where}: ${why}`);
}

type Part = "labels" | "annotations";

/** The manifest with labels or annotations set; refuses those that are no such thing, and TMC's own. */
export function withMarks(manifest: Manifest, part: Part, marks: Texts, where: string): Manifest {
  for (const [key, value] of Object.entries(marks)) {
    const at = `${where}: ${JSON.stringify(key)}`;
    if (isOwnKey(key)) refuse(at, "is TMC's own");
    const problems = [...labelKeyProblems(key), ...(part === "labels" ? labelValueProblems(value) : [])];
    if (problems.length > 0) refuse(at, problems.join("; "));
  }
  const { metadata } = manifest;
  return { ...manifest, metadata: { ...metadata, [part]: { ...metadata[part], ...marks } } };
}

/** The manifest without a label or an annotation. */
export function withoutMark(manifest: Manifest, part: Part, key: string): Manifest {
  const { metadata } = manifest;
  const marks = metadata[part];
  if (marks === undefined || !Object.hasOwn(marks, key)) return manifest;
  const left = Object.entries(marks).filter(([name]) => name !== key);
  return { ...manifest, metadata: { ...metadata, [part]: Object.fromEntries(left) } };
}
