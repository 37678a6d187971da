import { type Fields, isFields } from "@tmc/kube/json.ts";
import { embeddedResourceErrors } from "./embedded-resource.ts";
import { type FieldError, invalid, notSupported, required, tooLong, tooMany, typeInvalid } from "./field-error.ts";
import { hasFormat, isCheckedFormat } from "./formats.ts";
import { goQuote } from "./go-text.ts";
import { fieldOf, isEqual, isList } from "./json-value.ts";
import { duplicateErrors } from "./list-uniqueness.ts";
import type { Schema } from "./schema.ts";

export { type FieldError, formatInvalid, invalidDetails } from "./field-error.ts";

/**
 * Validates an object against its schema with the server's messages. With `old`, errors in unchanged values are
 * ignored, because a schema may have become stricter (validation ratcheting).
 */
export function validateObject(schema: Schema, object: unknown, old?: unknown): FieldError[] {
  const outcome = check({ schema, path: "", prefix: "", value: object, old });
  return withRules(
    schema,
    outcome.errors.concat(embeddedResourceErrors(schema, object), newDuplicates(schema, object, old)),
  );
}

/** Validates a status write: only `status`, with paths relative to it, as the server does. */
export function validateStatus(schema: Schema, object: Fields, old?: Fields): FieldError[] {
  const status = schema.properties?.status;
  const value = fieldOf(object, "status");
  const errors =
    status === undefined || value === undefined
      ? []
      : check({ schema: status, path: "", prefix: "status", value, old: old && fieldOf(old, "status") }).errors;
  return withRules(schema, errors.concat(newDuplicates(schema, object, old)));
}

function newDuplicates(schema: Schema, object: unknown, old: unknown): FieldError[] {
  const errors = duplicateErrors(schema, object);
  return errors.length > 0 && old !== undefined && duplicateErrors(schema, old).length > 0 ? [] : errors;
}

type CheckedValue = Readonly<{
  schema: Schema;
  /** Path of the value as in messages. */
  path: string;
  /** Prefix of the path in the error's field. */
  prefix: string;
  value: unknown;
  old?: unknown;
}>;

/** `matches` counts successful checks. If all alternatives fail, the server reports the one with the most matches. */
type Outcome = { errors: FieldError[]; matches: number };

const failed = (error: FieldError): Outcome => ({ errors: [error], matches: 0 });
const passed = (matches: number): Outcome => ({ errors: [], matches });

function add(target: Outcome, outcome: Outcome): void {
  target.matches += outcome.matches;
  for (const error of outcome.errors) addError(target, error);
}

function addError(target: Outcome, error: FieldError): void {
  if (target.errors.some(({ field, message }) => field === error.field && message === error.message)) return;
  target.errors.push(error);
}

function check(checked: CheckedValue): Outcome {
  const outcome = checkValue(checked);
  if (outcome.errors.length > 0 && checked.old !== undefined && isEqual(checked.value, checked.old)) {
    return passed(outcome.matches);
  }
  return outcome;
}

function checkValue(checked: CheckedValue): Outcome {
  const { schema, value } = checked;
  const outcome = passed(0);
  if (value === null) {
    add(outcome, checkType(checked));
    add(outcome, checkEnum(checked));
    return outcome;
  }
  const parts: Outcome[] = [];
  if (typeNames(schema).length > 0 || schema.format !== undefined) parts.push(checkType(checked));
  parts.push(checkCombinations(checked));
  if (typeof value === "string") parts.push(checkString(checked, value));
  if (typeof value === "number") parts.push(checkNumber(checked, value));
  if (isList(value)) parts.push(checkList(checked, value));
  parts.push(checkEnum(checked));
  if (isFields(value)) parts.push(checkProperties(checked, value));
  for (const part of parts) {
    add(outcome, part);
    outcome.matches += 1;
  }
  outcome.matches += 1;
  return outcome;
}

function fieldName({ path, prefix }: Pick<CheckedValue, "path" | "prefix">): string {
  const name = path.replace(/^\./, "");
  if (name === "") return prefix === "" ? noField : prefix;
  return prefix === "" ? name : `${prefix}.${name}`;
}

/** How the server prints the field of an error without one. */
const noField = "<nil>";

const inBody = (path: string, message: string): string => `${path} in body ${message}`;

function isIntOrString(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true || schema.format === "int-or-string";
}

function typeNames(schema: Schema): readonly string[] {
  if (isIntOrString(schema)) return ["integer", "string"];
  return schema.type === undefined ? [] : [schema.type];
}

function typeName(value: unknown): string {
  if (value === null) return "null";
  if (isList(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function checkType(checked: CheckedValue): Outcome {
  const { schema, value, path } = checked;
  const types = typeNames(schema);
  const actual = typeName(value);
  if (value === null ? types.length === 0 || schema.nullable === true : types.includes(actual)) return passed(1);
  if (actual === "integer" && types.includes("number")) return passed(1);
  const format = value === null ? undefined : checkedFormat(schema);
  if (format !== undefined) {
    // For a schema with a format, the server reports the format; it does not check strings and lists here.
    const isText = typeof value === "string" || isList(value);
    if (isText && schema.type !== "number" && schema.type !== "integer") return passed(1);
    if (!isText) {
      const inferred = actual === "integer" ? "int64" : actual === "number" ? "float64" : "";
      const text = inBody(path, `must be of type ${format}: ${goQuote(inferred)}`);
      return failed(typeInvalid(fieldName(checked), inferred, text));
    }
  }
  const message = inBody(path, `must be of type ${types.join(",")}: ${goQuote(actual)}`);
  return failed(typeInvalid(fieldName(checked), actual, message));
}

const numberFormats: Readonly<Record<string, readonly string[]>> = {
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

/** Ignores formats that do not belong to the type or that the server does not know. */
function checkedFormat(schema: Schema): string | undefined {
  const { format, type } = schema;
  if (format === undefined || isIntOrString(schema)) return undefined;
  const known =
    type === undefined || type === "string" ? isCheckedFormat(format) : numberFormats[type]?.includes(format) === true;
  return known ? format : undefined;
}

function checkEnum(checked: CheckedValue): Outcome {
  const { schema, value } = checked;
  if (schema.enum === undefined || schema.enum.length === 0) return passed(0);
  if (value !== null && schema.enum.some((allowed) => isEqual(allowed, value))) return passed(0);
  const supported = schema.enum.map((allowed) => (typeof allowed === "string" ? allowed : JSON.stringify(allowed)));
  return failed(notSupported(fieldName(checked), value, supported));
}

function checkString(checked: CheckedValue, value: string): Outcome {
  const { schema, path } = checked;
  const field = fieldName(checked);
  const length = schema.maxLength === undefined && schema.minLength === undefined ? 0 : lengthOf(value);
  if (schema.maxLength !== undefined && length > schema.maxLength) return failed(tooLong(field, schema.maxLength));
  if (schema.minLength !== undefined && length < schema.minLength) {
    return failed(invalid(field, value, inBody(path, `should be at least ${schema.minLength} chars long`)));
  }
  const outcome = passed(0);
  if (schema.pattern !== undefined && schema.pattern !== "" && !patternOf(schema.pattern).test(value)) {
    outcome.errors.push(invalid(field, value, inBody(path, `should match '${schema.pattern}'`)));
  }
  if (schema.format !== undefined && !isIntOrString(schema) && !hasFormat(schema.format, value)) {
    outcome.errors.push(typeInvalid(field, value, inBody(path, `must be of type ${schema.format}: ${goQuote(value)}`)));
  }
  return outcome;
}

function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length += 1;
  return length;
}

const patterns = new Map<string, RegExp>();

/** Patterns have Go syntax. The only common difference from JavaScript is flags at the start. */
function patternOf(source: string): RegExp {
  const known = patterns.get(source);
  if (known !== undefined) return known;
  const flags = /^\(\?([is]+)\)/.exec(source);
  const body = source
    .slice(flags?.[0].length ?? 0)
    .replaceAll("\\z", "$")
    .replaceAll("\\A", "^");
  let pattern: RegExp;
  try {
    pattern = new RegExp(body, `${flags?.[1] ?? ""}u`);
  } catch {
    // Go allows escaped ordinary characters, which JavaScript rejects only in Unicode mode.
    pattern = new RegExp(body, flags?.[1] ?? "");
  }
  patterns.set(source, pattern);
  return pattern;
}

const ranges: Readonly<Record<string, number>> = { int32: 2 ** 31, float: 3.4028234663852886e38 };

function isInRange(type: Schema["type"], format: string | undefined, value: number): boolean {
  if (type === "integer" && !Number.isInteger(value)) return false;
  const limit = format === undefined ? undefined : ranges[format];
  return limit === undefined || (value >= -limit && (format === "int32" ? value < limit : value <= limit));
}

function checkNumber(checked: CheckedValue, value: number): Outcome {
  const { schema, path } = checked;
  const field = fieldName(checked);
  const outcome = passed(1);
  const report = (message: string): number => outcome.errors.push(invalid(field, value, inBody(path, message)));

  const format = checkedFormat(schema);
  if (!isInRange(schema.type, format, value)) {
    const expected = format === undefined ? "(default format)" : `with format ${format}`;
    outcome.errors.push(invalid(noField, "", `Checked value must be of type ${schema.type} ${expected} in ${path}`));
  }
  const { multipleOf, minimum, maximum } = schema;
  if (multipleOf !== undefined) {
    const times = multipleOf < 1 ? (1 / multipleOf) * value : value / multipleOf;
    if (Math.abs(times - Math.round(times)) > 1e-9 * Math.max(1, Math.abs(times))) {
      report(`should be a multiple of ${multipleOf}`);
    }
  }
  if (minimum !== undefined) {
    if (schema.exclusiveMinimum === true && value <= minimum) report(`should be greater than ${minimum}`);
    else if (value < minimum) report(`should be greater than or equal to ${minimum}`);
  }
  if (maximum !== undefined) {
    if (schema.exclusiveMaximum === true && value >= maximum) report(`should be less than ${maximum}`);
    else if (value > maximum) report(`should be less than or equal to ${maximum}`);
  }
  return outcome;
}

function checkList(checked: CheckedValue, value: readonly unknown[]): Outcome {
  const { schema, path } = checked;
  const field = fieldName(checked);
  const outcome = passed(1);
  if (schema.items !== undefined) {
    const oldItems = oldItemsByKey(checked);
    for (const [index, item] of value.entries()) {
      const old = oldItems?.(item);
      add(outcome, check({ ...checked, schema: schema.items, path: `${path}[${index}]`, value: item, old }));
    }
  }
  if (schema.minItems !== undefined && value.length < schema.minItems) {
    const message = inBody(path, `should have at least ${schema.minItems} items`);
    addError(outcome, invalid(field, value.length, message));
  }
  if (schema.maxItems !== undefined && value.length > schema.maxItems) {
    addError(outcome, tooMany(field, value.length, schema.maxItems));
  }
  if (schema.uniqueItems === true && new Set(value.map((item) => JSON.stringify(item))).size < value.length) {
    addError(outcome, invalid(field, "", inBody(path, "shouldn't contain duplicates")));
  }
  return outcome;
}

/** Only items of a list with keys can be compared with their previous value. */
function oldItemsByKey({ schema, old }: CheckedValue): ((item: unknown) => unknown) | undefined {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || keys === undefined || !isList(old)) return undefined;
  const keyOf = (item: unknown): string =>
    JSON.stringify(isFields(item) ? keys.map((key) => fieldOf(item, key) ?? null) : item);
  const byKey = new Map(old.map((item) => [keyOf(item), item]));
  return (item) => byKey.get(keyOf(item));
}

function checkProperties(checked: CheckedValue, value: Fields): Outcome {
  const { schema, path, old } = checked;
  const field = fieldName(checked);
  const outcome = passed(0);
  const properties = schema.properties ?? {};
  const names = Object.keys(value);
  const oldField = (name: string): unknown => (isFields(old) ? fieldOf(old, name) : undefined);
  if (schema.minProperties !== undefined && names.length < schema.minProperties) {
    const message = inBody(path, `should have at least ${schema.minProperties} properties`);
    addError(outcome, invalid(field, names.length, message));
  }
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    addError(outcome, tooMany(field, names.length, schema.maxProperties));
  }
  for (const name of names) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const further = { ...checked, value: value[name], old: oldField(name) };
    if (property !== undefined) {
      add(outcome, check({ ...further, schema: property, path: path === "" ? name : `${path}.${name}` }));
    } else if (schema.additionalProperties === false) {
      addError(outcome, invalid(field, name, `${path}.${name} in body is a forbidden property`));
    } else if (typeof schema.additionalProperties === "object") {
      add(outcome, check({ ...further, schema: schema.additionalProperties, path: `${path}.${name}` }));
    }
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) addError(outcome, required(fieldName({ ...checked, path: `${path}.${name}` })));
  }
  return outcome;
}

function checkCombinations(checked: CheckedValue): Outcome {
  const { schema, path } = checked;
  const { anyOf, oneOf, allOf, not } = schema;
  if (anyOf === undefined && oneOf === undefined && allOf === undefined && not === undefined) return passed(1);
  const outcome = passed(0);
  // These errors have no field; the path is in the message.
  const report = (message: string): void => addError(outcome, invalid(noField, "", `${goQuote(path)} ${message}`));
  // Alternatives are checked as a whole, even for an unchanged value.
  const against = (alternative: Schema): Outcome => checkValue({ ...checked, schema: alternative });

  if (anyOf !== undefined && anyOf.length > 0) {
    const results = anyOf.map(against);
    const success = results.find(({ errors }) => errors.length === 0);
    if (success === undefined) report("must validate at least one schema (anyOf)");
    add(outcome, success ?? best(results));
  }
  if (oneOf !== undefined && oneOf.length > 0) {
    const results = oneOf.map(against);
    const successes = results.filter(({ errors }) => errors.length === 0);
    if (successes.length === 1) add(outcome, successes[0] ?? passed(0));
    else {
      const found = successes.length === 0 ? "Found none valid" : `Found ${successes.length} valid alternatives`;
      report(`must validate one and only one schema (oneOf). ${found}`);
      if (successes.length === 0) add(outcome, best(results));
    }
  }
  if (allOf !== undefined && allOf.length > 0) {
    const results = allOf.map(against);
    for (const result of results) add(outcome, result);
    const successes = results.filter(({ errors }) => errors.length === 0).length;
    if (successes < results.length) {
      report(`must validate all the schemas (allOf)${successes === 0 ? ". None validated" : ""}`);
    }
  }
  if (not !== undefined && against(not).errors.length === 0) {
    report("must not validate the schema (not)");
  }
  outcome.matches += 1;
  return outcome;
}

function best(results: readonly Outcome[]): Outcome {
  return results.reduce((winner, result) => (result.matches > winner.matches ? result : winner));
}

const blocking = new Set(["NotSupported", "Required", "TooLong", "TooMany", "TypeInvalid"]);

/** Adds the server's note that CEL rules were not evaluated because of other errors. */
function withRules(schema: Schema, errors: FieldError[]): FieldError[] {
  if (!errors.some(({ type }) => blocking.has(type)) || !hasRules(schema)) return errors;
  const message =
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
  return [...errors, invalid(noField, null, message)];
}

const schemasWithRules = new WeakMap<Schema, boolean>();

function hasRules(schema: Schema, seen: Set<Schema> = new Set()): boolean {
  const known = schemasWithRules.get(schema);
  if (known !== undefined) return known;
  if (seen.has(schema)) return false;
  seen.add(schema);
  const below = [...Object.values(schema.properties ?? {})];
  if (schema.items !== undefined) below.push(schema.items);
  if (typeof schema.additionalProperties === "object") below.push(schema.additionalProperties);
  const found = (schema["x-kubernetes-validations"]?.length ?? 0) > 0 || below.some((inner) => hasRules(inner, seen));
  // Inside a cycle, the result is final only when the walk has returned to its root.
  if (found || seen.values().next().value === schema) schemasWithRules.set(schema, found);
  return found;
}
