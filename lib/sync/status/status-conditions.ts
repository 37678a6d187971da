import type { Json, JsonObject } from "@tmc/kube/kube-object.ts";
import { fieldAt, isJsonObject } from "./json.ts";

/** A condition as any controller may have written it: only these two fields are sure to be there. */
export type StatusCondition = JsonObject & { type: string; status: string };

/** The conditions of a status; undefined where it has none, or something else under that name. */
export function conditionsOf(status: JsonObject | undefined): readonly StatusCondition[] | undefined {
  const list = fieldAt(status, "conditions");
  return Array.isArray(list) && list.every(isCondition) ? list : undefined;
}

/** The condition of a type. Of several, the last: controllers that keep a history append to it. */
export function conditionOf(status: JsonObject | undefined, type: string): StatusCondition | undefined {
  return conditionsOf(status)?.findLast((condition) => condition.type === type);
}

function isCondition(value: Json): value is StatusCondition {
  return isJsonObject(value) && typeof value.type === "string" && typeof value.status === "string";
}
