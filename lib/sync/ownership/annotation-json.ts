import { isFields } from "../../model/json-fields.ts";

/** Reads texts by their names from what should be JSON; undefined for anything that does not have all of them. */
export function readMark<Name extends string>(
  json: string | undefined,
  names: readonly Name[],
): Readonly<Record<Name, string>> | undefined {
  const fields = json === undefined ? undefined : parsed(json);
  if (!isFields(fields)) return undefined;
  const texts: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof text !== "string") return undefined;
    texts[name] = text;
  }
  return texts as Record<Name, string>;
}

/** Anybody can write anything into an annotation: what is no JSON is no mark, and no fault either. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
