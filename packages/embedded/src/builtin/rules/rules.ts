import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { invalidObject } from "../../api-errors.ts";
import type { HookContext, ResourceHooks } from "../../definition.ts";
import { isFields } from "../../fields.ts";
import { withDefaults } from "../../machinery/defaults.ts";
import type { FieldError } from "../../machinery/field-error.ts";
import type { Schema } from "../../machinery/schema.ts";
import { validateObject } from "../../machinery/validate.ts";
import { normalize } from "../normalize.ts";

/** What a built-in type does beyond its schema, in the order in which it happens. */
export type TypeRules = Readonly<{
  /** Fills in what was left out, for new and changed objects alike; the object is changed in place. */
  setDefaults?: (object: KubeObject) => void;
  /** What only the server says about a new object. */
  begin?: (object: KubeObject, context: HookContext) => void;
  /** What a change cannot take away. */
  carryOver?: (object: KubeObject, old: KubeObject, context: HookContext) => void;
  validate?: (object: KubeObject) => readonly FieldError[];
  validateChange?: (object: KubeObject, old: KubeObject, context: HookContext) => readonly FieldError[];
  prepareDelete?: NonNullable<ResourceHooks["prepareDelete"]>;
}>;

type Named = Readonly<{ group: string; kind: string; schema: () => Schema }>;

/** Makes a type's hooks from its rules. Every built-in type gets its values normalized, with rules or without. */
export function hooksOf(type: Named, rules: TypeRules = {}): ResourceHooks {
  const refuse = (object: KubeObject, errors: readonly FieldError[]): void => {
    if (errors.length === 0) return;
    // The type's own words stand in for those of the schema about the same field; the user sees all errors at once.
    const own = new Set(errors.map(({ field }) => field));
    const others = validateObject(type.schema(), { ...object, metadata: {} })
      // Of built-in types a real server asks for unique keys only where it says so itself.
      .filter((error) => error.type !== "Duplicate" && !own.has(error.field));
    throw invalidObject(type, object.metadata.name ?? "", [...others, ...errors]);
  };
  return {
    setDefaults: (object) => {
      normalize(type.schema(), object);
      rules.setDefaults?.(object);
    },
    prepareCreate: (object, context) => {
      // A new object's status is empty, which in Go is a structure full of zeros.
      const status = type.schema().properties?.status;
      if (status !== undefined && isFields(object.status)) {
        object.status = structuredClone(withDefaults(status, object.status));
      }
      rules.begin?.(object, context);
      refuse(object, rules.validate?.(object) ?? []);
    },
    prepareUpdate: (object, old, context) => {
      rules.carryOver?.(object, old, context);
      refuse(object, [...(rules.validate?.(object) ?? []), ...(rules.validateChange?.(object, old, context) ?? [])]);
    },
    ...(rules.prepareDelete === undefined ? {} : { prepareDelete: rules.prepareDelete }),
  };
}

/** The server's own hand: what it changes is not held to what users may change. */
export function isServer({ user }: HookContext): boolean {
  return user.name === "system:apiserver";
}
