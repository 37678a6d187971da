import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { HookContext, ResourceHooks } from "../../definitions/definition.ts";
import { invalidObject } from "../../machinery/api-errors.ts";
import { withDefaults } from "../../machinery/defaults.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import type { Schema } from "../../machinery/schema.ts";
import { validateObject } from "../../machinery/validate.ts";
import { normalize } from "../normalize.ts";

/** Behavior of a built-in type beyond its schema, in the order of the calls. */
export type BuiltinRules = Readonly<{
  /** Sets defaults in place, for creates and updates. */
  setDefaults?: (object: KubeObject) => void;
  /** Sets fields of a new object that only the server may set. */
  initialize?: (object: KubeObject, context: HookContext) => void;
  /** Restores fields that an update cannot remove. */
  preserve?: (object: KubeObject, old: KubeObject, context: HookContext) => void;
  validate?: (object: KubeObject) => readonly FieldError[];
  validateChange?: (object: KubeObject, old: KubeObject, context: HookContext) => readonly FieldError[];
  prepareDelete?: NonNullable<ResourceHooks["prepareDelete"]>;
}>;

type Named = Readonly<{ group: string; kind: string; schema: () => Schema }>;

/** Turns rules into hooks. Every built-in type is normalized, with or without rules. */
export function hooksOf(type: Named, rules: BuiltinRules = {}): ResourceHooks {
  const throwIfInvalid = (object: KubeObject, errors: readonly FieldError[]): void => {
    if (errors.length === 0) return;
    // The type's own errors replace schema errors about the same field; the client gets all errors at once.
    const own = new Set(errors.map(({ field }) => field));
    const others = validateObject(type.schema(), { ...object, metadata: {} })
      // For built-in types a real server requires unique keys only where its own validation says so.
      .filter((error) => error.type !== "Duplicate" && !own.has(error.field));
    throw invalidObject(type, object.metadata.name ?? "", [...others, ...errors]);
  };
  return {
    setDefaults: (object) => {
      normalize(type.schema(), object);
      rules.setDefaults?.(object);
    },
    prepareCreate: (object, context) => {
      // A new object's status is empty; in Go that is a struct of zero values.
      const status = type.schema().properties?.status;
      if (status !== undefined && isRecord(object.status)) {
        object.status = structuredClone(withDefaults(status, object.status));
      }
      rules.initialize?.(object, context);
      throwIfInvalid(object, rules.validate?.(object) ?? []);
    },
    prepareUpdate: (object, old, context) => {
      rules.preserve?.(object, old, context);
      throwIfInvalid(object, [
        ...(rules.validate?.(object) ?? []),
        ...(rules.validateChange?.(object, old, context) ?? []),
      ]);
    },
    ...(rules.prepareDelete === undefined ? {} : { prepareDelete: rules.prepareDelete }),
  };
}

/** Writes of the server itself are exempt from the rules about what users may change. */
export function isServerWrite({ user }: HookContext): boolean {
  return user.name === "system:apiserver";
}
