import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, textAt } from "../fields.ts";
import type { Directory } from "./directory.ts";
import { pathAnnotation } from "./names.ts";

/** A workspace type by its full name: `root:universal`. */
export const fullNameOf = (type: KubeObject): string =>
  `${type.metadata.annotations?.[pathAnnotation] ?? ""}:${type.metadata.name ?? ""}`;

/** Finds a workspace type; without a path, in the nearest workspace above that has one of this name. */
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

/** A type and all that it extends, the extended ones first, as kcp resolves them. */
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

/** The type that a logical cluster's annotation names, `root:universal`. */
export function typeNamed(directory: Directory, fullName: string): KubeObject | undefined {
  const end = fullName.lastIndexOf(":");
  return end < 0 ? undefined : directory.workspaceTypeAt(fullName.slice(0, end), fullName.slice(end + 1));
}
