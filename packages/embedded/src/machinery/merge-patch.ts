import { isFields } from "@tmc/kube/json.ts";
import { ApiFailure } from "./api-errors.ts";
import { goJsonType } from "./go-text.ts";
import { setOwnField, withoutNulls } from "./json-value.ts";

/** Applies a JSON merge patch; unchanged parts are shared with the old document. */
export function mergePatch(document: unknown, patch: unknown): unknown {
  if (patch === null) throw new ApiFailure(400, "BadRequest", "Invalid JSON Patch");
  if (!isFields(patch)) {
    const message = `error decoding patch: json: cannot unmarshal ${goJsonType(patch)} into Go value of type map[string]interface {}`;
    throw new ApiFailure(400, "BadRequest", message);
  }
  return merge(document, patch);
}

function merge(document: unknown, patch: unknown): unknown {
  if (!isFields(document) || !isFields(patch)) return isFields(document) ? patch : withoutNulls(patch);
  const result: Record<string, unknown> = { ...document };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else setOwnField(result, name, Object.hasOwn(document, name) ? merge(document[name], value) : withoutNulls(value));
  }
  return result;
}
