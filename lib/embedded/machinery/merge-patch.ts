import { ApiFailure } from "../api-failure.ts";
import { typeOfGo } from "./go-text.ts";
import { isList, isObject, setField } from "./json-value.ts";

/** Applies a JSON merge patch and answers the new document; what the patch does not name is shared with the old one. */
export function mergePatch(document: unknown, patch: unknown): unknown {
  if (patch === null) throw new ApiFailure(400, "BadRequest", "Invalid JSON Patch");
  if (!isObject(patch)) {
    const message = `error decoding patch: json: cannot unmarshal ${typeOfGo(patch)} into Go value of type map[string]interface {}`;
    throw new ApiFailure(400, "BadRequest", message);
  }
  return merge(document, patch);
}

function merge(document: unknown, patch: unknown): unknown {
  if (!isObject(document) || !isObject(patch)) return isObject(document) ? patch : withoutNulls(patch);
  const result: Record<string, unknown> = { ...document };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else setField(result, name, Object.hasOwn(document, name) ? merge(document[name], value) : withoutNulls(value));
  }
  return result;
}

/** A null means absence also where there was nothing to remove; lists keep theirs. */
function withoutNulls(value: unknown): unknown {
  if (isList(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(value)) if (inner !== null) setField(result, name, withoutNulls(inner));
  return result;
}
