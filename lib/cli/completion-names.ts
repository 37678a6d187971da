import type { CliIo } from "./cli-io.ts";
import { inWorkspace } from "./workspace.ts";

/** The objects whose names complete an argument or an option. */
export const completedObjects = ["clusters", "placements", "workloads"] as const;
export type CompletedObjects = (typeof completedObjects)[number];

/** The commands whose arguments are names of existing objects. */
export const completedArguments: ReadonlyMap<string, CompletedObjects> = new Map([
  ...["status", "unregister", "cordon", "uncordon", "drain", "accept-identity"].map(
    (name) => [`cluster ${name}`, "clusters"] as const,
  ),
  ...["placement describe", "placement delete", "explain"].map((path) => [path, "placements"] as const),
  ...["workload status", "diff", "confirm", "reconcile"].map((path) => [path, "workloads"] as const),
]);

/** The options whose values are names of existing objects. */
export const completedOptions: ReadonlyMap<string, CompletedObjects> = new Map([
  ["--cluster", "clusters"],
  ["--without-cluster", "clusters"],
  ["--placement", "placements"],
  ["--workload", "workloads"],
  ["--for", "workloads"],
]);

/** The command that completion scripts call; it is not a part of the documented command line. */
export const namesCommand = "__names";

/** Prints the names that complete the last word of a command line, one per line. */
export async function printNames(io: CliIo, [what, ...words]: readonly string[]): Promise<void> {
  const objects = completedObjects.find((each) => each === what);
  if (objects === undefined) return;
  const { options, others } = parseWords(words);
  const names = await inWorkspace(io, options, async (workspace): Promise<readonly string[]> => {
    const nameOf = ({ metadata }: Readonly<{ metadata: Readonly<{ name?: string }> }>): string => metadata.name ?? "";
    if (objects === "clusters") return (await workspace.registrations()).map(nameOf);
    if (objects === "placements") return (await workspace.placements()).map(nameOf);
    // Imported on demand: completion of other words does not need it.
    const { workloadNames } = await import("./workload/workload-objects.ts");
    return workloadNames(workspace, { namespace: options.namespace ?? workspace.namespace, words: others });
  });
  io.out(
    names
      .filter((name) => safeName.test(name))
      .map((name) => `${name}\n`)
      .join(""),
  );
}

/** Bash expands the words that it is offered, so a server must not be able to offer others. */
const safeName = /^[a-z0-9][-a-z0-9./]*$/i;

type ConnectionOption = "kubeconfig" | "context" | "workspace" | "namespace";

const connectionOptions: ReadonlyMap<string, ConnectionOption> = new Map([
  ["--kubeconfig", "kubeconfig"],
  ["--context", "context"],
  ["--workspace", "workspace"],
  ["--namespace", "namespace"],
  ["-n", "namespace"],
]);

/** Finds the connection options in an unfinished command line, which the parser of the command would reject. */
export function parseWords(
  words: readonly string[],
): Readonly<{ options: Readonly<Partial<Record<ConnectionOption, string>>>; others: readonly string[] }> {
  const options: Partial<Record<ConnectionOption, string>> = {};
  const others: string[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const [word = "", value] = (words[at] ?? "").split(/=(.*)/s, 2);
    const option = connectionOptions.get(word);
    if (option === undefined) others.push(words[at] ?? "");
    else if (value !== undefined) options[option] = value;
    else if (at + 1 < words.length) {
      at += 1;
      options[option] = words[at] ?? "";
    }
  }
  return { options, others };
}
