/** One import of a product file by another; both are paths from the root of the project. */
export type SourceImport = Readonly<{ from: string; to: string; isType: boolean }>;

/** The folders of the product in layers, the highest first. */
export type Layers = readonly (readonly string[])[];

/** Reads the layers from the code block of design.md that is marked `layers`: one layer per line, the highest first. */
export function parseLayers(page: string): Layers {
  const block = /^```layers\n([\s\S]*?)^```$/m.exec(page)?.[1];
  if (block === undefined) throw new Error("docs/design.md has no code block that is marked `layers`");
  return block
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));
}

/** All violations, as sentences: imports of a higher layer, folders without a layer, cycles between folders and between files. */
export function violationsOf(imports: readonly SourceImport[], layers: Layers): readonly string[] {
  const heightOf = new Map(layers.flatMap((folders, index) => folders.map((folder) => [folder, -index] as const)));
  const between = imports.filter(({ from, to }) => folderOf(from) !== folderOf(to));
  const unknown = new Set(imports.flatMap(({ from, to }) => [folderOf(from), folderOf(to)]));
  for (const folder of heightOf.keys()) unknown.delete(folder);
  return [
    ...[...unknown].toSorted().map((folder) => `${folder} is in no layer of docs/design.md`),
    ...between
      .filter(({ from, to }) => (heightOf.get(folderOf(from)) ?? 0) < (heightOf.get(folderOf(to)) ?? -Infinity))
      .map(({ from, to }) => `${from} imports ${to}: ${folderOf(from)} is below ${folderOf(to)}`),
    ...cyclesOf(between.map(({ from, to }) => [folderOf(from), folderOf(to)] as const)).map(
      (cycle) => `folders import each other: ${cycle.join(", ")}`,
    ),
    ...cyclesOf(imports.filter(({ isType }) => !isType).map(({ from, to }) => [from, to] as const)).map(
      (cycle) => `files import each other: ${cycle.join(", ")}`,
    ),
  ];
}

/** `lib/queue/sqs.ts` → `queue`, `packages/kube/src/client.ts` → `packages/kube`, `bin/tmc.ts` → `bin`. */
function folderOf(file: string): string {
  const [top = "", second = ""] = file.split("/");
  return top === "lib" ? second : top === "packages" ? `${top}/${second}` : top;
}

/** The strongly connected components with more than one node, each sorted (Tarjan). */
function cyclesOf(edges: readonly (readonly [string, string])[]): readonly (readonly string[])[] {
  const targets = new Map<string, Set<string>>();
  for (const [from, to] of edges) targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const visited = new Map<string, { index: number; low: number; onStack: boolean }>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (node: string): { index: number; low: number; onStack: boolean } => {
    const entry = { index: visited.size, low: visited.size, onStack: true };
    visited.set(node, entry);
    stack.push(node);
    for (const next of targets.get(node) ?? []) {
      const seen = visited.get(next);
      if (seen === undefined) entry.low = Math.min(entry.low, visit(next).low);
      else if (seen.onStack) entry.low = Math.min(entry.low, seen.index);
    }
    if (entry.low === entry.index) {
      const component = stack.splice(stack.indexOf(node));
      for (const member of component) {
        const seen = visited.get(member);
        if (seen !== undefined) seen.onStack = false;
      }
      if (component.length > 1) cycles.push(component.toSorted());
    }
    return entry;
  };
  for (const node of targets.keys()) if (!visited.has(node)) visit(node);
  return cycles.toSorted();
}
