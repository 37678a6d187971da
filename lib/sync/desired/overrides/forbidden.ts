import { group } from "../../../api/group.ts";

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
