import { ApiFailure } from "../api-failure.ts";
import { typeOfGo } from "./go-text.ts";
import { isObject, setField, withoutNulls } from "./json-value.ts";

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
