import { labelKeyProblems, labelValueProblems } from "@tmc/kube/selector.ts";
import type { Texts } from "../../../model/json-fields.ts";
import type { Manifest } from "../../sync-objects.ts";
import { isOwnKey } from "./forbidden.ts";
import { refuse } from "./refuse.ts";

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
