/** Finds duplicate fields in valid JSON, as paths (`spec.replicas`), in order. */
export function duplicateFields(text: string): { path: string; at: number }[] {
  const found: { path: string; at: number }[] = [];
  scanFields(text, (path, at, isRepeated) => {
    if (isRepeated) found.push({ path: path(), at });
  });
  return found;
}

/** The first position of each field in valid JSON. */
export function fieldPositions(text: string): ReadonlyMap<string, number> {
  const positions = new Map<string, number>();
  scanFields(text, (path, at) => {
    const name = path();
    if (!positions.has(name)) positions.set(name, at);
  });
  return positions;
}

/** Visits every field name. Paths are built on demand, because this runs for every write. */
function scanFields(text: string, visit: (path: () => string, at: number, isRepeated: boolean) => void): void {
  /** The open objects and lists: names seen so far, or the current index. */
  const open: { names: Set<string> | undefined; path: string; index: number; name: string }[] = [];
  let expectsName = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    const top = open.at(-1);
    switch (character) {
      case '"': {
        const end = endOfString(text, at);
        if (expectsName && top?.names !== undefined) {
          const name = unquoted(text, at, end);
          const isRepeated = top.names.has(name);
          top.names.add(name);
          top.name = name;
          visit(() => join(top.path, name), at, isRepeated);
          expectsName = false;
        }
        at = end;
        break;
      }
      case "{":
      case "[":
        open.push({ names: character === "{" ? new Set() : undefined, path: pathBelow(top), index: 0, name: "" });
        expectsName = character === "{";
        break;
      case "}":
      case "]":
        open.pop();
        expectsName = false;
        break;
      case ",":
        if (top !== undefined) top.index += 1;
        expectsName = top?.names !== undefined;
        break;
      default:
    }
  }
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

function pathBelow(
  parent: { names: Set<string> | undefined; path: string; index: number; name: string } | undefined,
): string {
  if (parent === undefined) return "";
  return parent.names === undefined ? `${parent.path}[${parent.index}]` : join(parent.path, parent.name);
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end > 0 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end < 0 ? text.length : end;
}

function isEscaped(text: string, at: number): boolean {
  let slashes = 0;
  while (text[at - 1 - slashes] === "\\") slashes += 1;
  return slashes % 2 === 1;
}

function unquoted(text: string, start: number, end: number): string {
  const raw = text.slice(start + 1, end);
  if (!raw.includes("\\")) return raw;
  const value: unknown = JSON.parse(`"${raw}"`);
  return typeof value === "string" ? value : raw;
}
