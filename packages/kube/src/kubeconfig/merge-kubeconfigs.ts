import { dirname, resolve, sep } from "node:path";
import { ControllerError } from "../fault.ts";
import { isRecord } from "../json.ts";
import { type KubeconfigEntry, listOf, parseKubeconfigYaml, quote, stringOf } from "./kubeconfig.ts";

/** A kubeconfig file that exists. */
export type KubeconfigFile = Readonly<{ path: string; text: string }>;

/** The lists of a kubeconfig, and the field that holds the value of an entry. */
const lists = { contexts: "context", clusters: "cluster", users: "user" } as const;
type List = keyof typeof lists;

/** The fields that name files; a relative path is relative to the folder of the kubeconfig. */
const pathFields: Readonly<Record<List, readonly string[]>> = {
  contexts: [],
  clusters: ["certificate-authority"],
  users: ["client-certificate", "client-key", "tokenFile"],
};

/**
 * Merges kubeconfig files as kubectl does: the first file that has a name, or a current context, sets it. Entries of one
 * name are not combined. The result has absolute paths.
 *
 * A file that is not a kubeconfig is an error, as for kubectl, even if the other files suffice.
 */
export function mergeKubeconfigs(files: readonly KubeconfigFile[]): KubeconfigEntry {
  const merged: Record<List, Map<unknown, KubeconfigEntry>> = {
    contexts: new Map(),
    clusters: new Map(),
    users: new Map(),
  };
  let currentContext: string | undefined;
  for (const { path, text } of files) {
    const read = (): void => {
      const content = parseContent(text);
      currentContext ??= stringOf(content, "current-context");
      for (const list of ["contexts", "clusters", "users"] as const) {
        for (const entry of entriesOf(content, list)) {
          if (!merged[list].has(entry.name))
            merged[list].set(entry.name, withAbsolutePaths(list, entry, dirname(path)));
        }
      }
    };
    namingFile(path, read);
  }
  return {
    "current-context": currentContext ?? "",
    contexts: [...merged.contexts.values()],
    clusters: [...merged.clusters.values()],
    users: [...merged.users.values()],
  };
}

/** Adds the path of the file to the error of a function that reads it. */
function namingFile(path: string, read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ControllerError)) throw error;
    throw new ControllerError("invalid", error.message.replace(/^kubeconfig:/, `kubeconfig ${quote(path)}:`));
  }
}

/** A file without content is an empty kubeconfig. */
function parseContent(text: string): KubeconfigEntry {
  if (text.split("\n").every((line) => /^\s*(#|$)/.test(line))) return {};
  const content = parseKubeconfigYaml(text);
  const { kind = "Config" } = content;
  if (kind !== "Config")
    throw new ControllerError("invalid", `kubeconfig: kind is ${quote(String(kind))}, not "Config"`);
  return content;
}

function entriesOf(content: KubeconfigEntry, list: List): readonly KubeconfigEntry[] {
  const names = new Set<unknown>();
  const entries = listOf(content, list);
  for (const { name } of entries) {
    if (names.has(name)) {
      throw new ControllerError("invalid", `kubeconfig: ${list}: ${quote(String(name))} is there twice`);
    }
    names.add(name);
  }
  return entries;
}

function withAbsolutePaths(list: List, entry: KubeconfigEntry, folder: string): KubeconfigEntry {
  const field = lists[list];
  const value = entry[field];
  if (!isRecord(value)) return entry;
  const paths = pathFields[list].flatMap((name) => {
    const path = value[name];
    return typeof path === "string" && path !== "" ? [[name, resolve(folder, path)] as const] : [];
  });
  const { exec } = value;
  // As in a shell, a command without a slash is found by PATH.
  const isFile = isRecord(exec) && typeof exec.command === "string" && exec.command.includes(sep);
  return {
    ...entry,
    [field]: {
      ...value,
      ...Object.fromEntries(paths),
      ...(isFile ? { exec: { ...exec, command: resolve(folder, String(exec.command)) } } : {}),
    },
  };
}
