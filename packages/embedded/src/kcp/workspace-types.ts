import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt } from "../machinery/fields.ts";
import type { Directory } from "./directory.ts";
import { pathAnnotation } from "./names.ts";

/** The full name of a workspace type: `root:universal`. */
export const fullNameOf = (type: KubeObject): string =>
  `${type.metadata.annotations?.[pathAnnotation] ?? ""}:${type.metadata.name ?? ""}`;

/** Finds a workspace type by path, or without a path in the nearest ancestor workspace that has it. */
export function findWorkspaceType(
  directory: Directory,
  from: string,
  reference: Readonly<{ path: string; name: string }>,
): KubeObject | undefined {
  if (reference.path !== "") return directory.workspaceTypeAt(reference.path, reference.name);
  const segments = from.split(":");
  for (let length = segments.length; length > 0; length--) {
    const found = directory.workspaceTypeAt(segments.slice(0, length).join(":"), reference.name);
    if (found !== undefined) return found;
  }
  return segments[0] === "root" ? undefined : directory.workspaceTypeAt("root", reference.name);
}

/** Returns a type and all types it extends, extended ones first, as kcp resolves them. */
export function resolveWorkspaceType(directory: Directory, type: KubeObject): readonly KubeObject[] {
  const seen = new Set([fullNameOf(type)]);
  const bases = (extending: KubeObject): KubeObject[] =>
    listAt(extending, "spec", "extend", "with").flatMap((reference) => {
      const base = findWorkspaceType(directory, extending.metadata.annotations?.[pathAnnotation] ?? "", {
        path: textAt(reference, "path"),
        name: textAt(reference, "name"),
      });
      if (base === undefined || seen.has(fullNameOf(base))) return [];
      seen.add(fullNameOf(base));
      return [base, ...bases(base)];
    });
  return [...bases(type), type];
}

/** Finds a workspace type by its full name: `root:universal`. */
export function workspaceTypeNamed(directory: Directory, fullName: string): KubeObject | undefined {
  const end = fullName.lastIndexOf(":");
  return end < 0 ? undefined : directory.workspaceTypeAt(fullName.slice(0, end), fullName.slice(end + 1));
}
