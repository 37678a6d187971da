import { embeddedResourceErrors } from "./embedded-resource.ts";
import { type FieldError, invalid, notSupported, required, tooLong, tooMany, typeInvalid } from "./field-error.ts";
import { hasFormat, isCheckedFormat } from "./formats.ts";
import { goQuote } from "./go-text.ts";
import { type Fields, fieldOf, isEqual, isList, isObject } from "./json-value.ts";
import { duplicateErrors } from "./list-uniqueness.ts";
import type { Schema } from "./schema.ts";

export { type FieldError, formatInvalid, invalidDetails } from "./field-error.ts";

/**
 * Checks an object against its type's schema and gives every error in the server's words. With `old`, errors in values
 * that the write leaves as they are do not count (a schema may have become stricter since).
 */
export function validateObject(schema: Schema, object: unknown, old?: unknown): FieldError[] {
  const outcome = check({ schema, path: "", prefix: "", value: object, old });
  return withRules(
    schema,
    outcome.errors.concat(embeddedResourceErrors(schema, object), newDuplicates(schema, object, old)),
  );
}

/** Checks what a write to the status subresource changes: only `status`, named from its own root as the server does. */
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

type Place = Readonly<{
  schema: Schema;
  /** Where the value is, as messages name it. */
  path: string;
  /** What stands before the path in the error's field. */
  prefix: string;
  value: unknown;
  old?: unknown;
}>;

/** `matches` counts what held; among alternatives that all fail, the one with most tells what is wrong. */
type Outcome = { errors: FieldError[]; matches: number };

const failed = (error: FieldError): Outcome => ({ errors: [error], matches: 0 });
const held = (matches: number): Outcome => ({ errors: [], matches });

function add(target: Outcome, outcome: Outcome): void {
  target.matches += outcome.matches;
  for (const error of outcome.errors) addError(target, error);
}

function addError(target: Outcome, error: FieldError): void {
  if (target.errors.some(({ field, message }) => field === error.field && message === error.message)) return;
  target.errors.push(error);
}

function check(place: Place): Outcome {
  const outcome = checkValue(place);
  if (outcome.errors.length > 0 && place.old !== undefined && isEqual(place.value, place.old)) {
    return held(outcome.matches);
  }
  return outcome;
}

function checkValue(place: Place): Outcome {
  const { schema, value } = place;
  const outcome = held(0);
  if (value === null) {
    add(outcome, checkType(place));
    add(outcome, checkEnum(place));
    return outcome;
  }
  const parts: Outcome[] = [];
  if (typeNames(schema).length > 0 || schema.format !== undefined) parts.push(checkType(place));
  parts.push(checkCombinations(place));
  if (typeof value === "string") parts.push(checkString(place, value));
  if (typeof value === "number") parts.push(checkNumber(place, value));
  if (isList(value)) parts.push(checkList(place, value));
  parts.push(checkEnum(place));
  if (isObject(value)) parts.push(checkProperties(place, value));
  for (const part of parts) {
    add(outcome, part);
    outcome.matches += 1;
  }
  outcome.matches += 1;
  return outcome;
}

function fieldName({ path, prefix }: Pick<Place, "path" | "prefix">): string {
  const name = path.replace(/^\./, "");
  if (name === "") return prefix === "" ? nowhere : prefix;
  return prefix === "" ? name : `${prefix}.${name}`;
}

/** How the server prints the path of an error that has none. */
const nowhere = "<nil>";

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

function checkType(place: Place): Outcome {
  const { schema, value, path } = place;
  const types = typeNames(schema);
  const actual = typeName(value);
  if (value === null ? types.length === 0 || schema.nullable === true : types.includes(actual)) return held(1);
  if (actual === "integer" && types.includes("number")) return held(1);
  const format = value === null ? undefined : checkedFormat(schema);
  if (format !== undefined) {
    // Where there is a format, the server speaks of formats; a string or list in place of a text is not looked at.
    const isText = typeof value === "string" || isList(value);
    if (isText && schema.type !== "number" && schema.type !== "integer") return held(1);
    if (!isText) {
      const inferred = actual === "integer" ? "int64" : actual === "number" ? "float64" : "";
      const text = inBody(path, `must be of type ${format}: ${goQuote(inferred)}`);
      return failed(typeInvalid(fieldName(place), inferred, text));
    }
  }
  const message = inBody(path, `must be of type ${types.join(",")}: ${goQuote(actual)}`);
  return failed(typeInvalid(fieldName(place), actual, message));
}

const numberFormats: Readonly<Record<string, readonly string[]>> = {
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

/** Formats that do not belong to the type, or that the server does not know, are as if they were not there. */
function checkedFormat(schema: Schema): string | undefined {
  const { format, type } = schema;
  if (format === undefined || isIntOrString(schema)) return undefined;
  const known =
    type === undefined || type === "string" ? isCheckedFormat(format) : numberFormats[type]?.includes(format) === true;
  return known ? format : undefined;
}

function checkEnum(place: Place): Outcome {
  const { schema, value } = place;
  if (schema.enum === undefined || schema.enum.length === 0) return held(0);
  if (value !== null && schema.enum.some((allowed) => isEqual(allowed, value))) return held(0);
  const supported = schema.enum.map((allowed) => (typeof allowed === "string" ? allowed : JSON.stringify(allowed)));
  return failed(notSupported(fieldName(place), value, supported));
}

function checkString(place: Place, value: string): Outcome {
  const { schema, path } = place;
  const field = fieldName(place);
  const length = schema.maxLength === undefined && schema.minLength === undefined ? 0 : lengthOf(value);
  if (schema.maxLength !== undefined && length > schema.maxLength) return failed(tooLong(field, schema.maxLength));
  if (schema.minLength !== undefined && length < schema.minLength) {
    return failed(invalid(field, value, inBody(path, `should be at least ${schema.minLength} chars long`)));
  }
  const outcome = held(0);
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

/** Patterns are Go's; the one thing in common use that JavaScript writes differently is the flag at the front. */
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
    // Go allows escapes of ordinary characters, which JavaScript refuses only in Unicode mode.
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

function checkNumber(place: Place, value: number): Outcome {
  const { schema, path } = place;
  const field = fieldName(place);
  const outcome = held(1);
  const report = (message: string): number => outcome.errors.push(invalid(field, value, inBody(path, message)));

  const format = checkedFormat(schema);
  if (!isInRange(schema.type, format, value)) {
    const wanted = format === undefined ? "(default format)" : `with format ${format}`;
    outcome.errors.push(invalid(nowhere, "", `Checked value must be of type ${schema.type} ${wanted} in ${path}`));
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

function checkList(place: Place, value: readonly unknown[]): Outcome {
  const { schema, path } = place;
  const field = fieldName(place);
  const outcome = held(1);
  if (schema.items !== undefined) {
    const oldItems = oldItemsByKey(place);
    for (const [index, item] of value.entries()) {
      const old = oldItems?.(item);
      add(outcome, check({ ...place, schema: schema.items, path: `${path}[${index}]`, value: item, old }));
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

/** Only the items of a list with keys can be told apart from one write to the next. */
function oldItemsByKey({ schema, old }: Place): ((item: unknown) => unknown) | undefined {
  const keys = schema["x-kubernetes-list-map-keys"];
  if (schema["x-kubernetes-list-type"] !== "map" || keys === undefined || !isList(old)) return undefined;
  const keyOf = (item: unknown): string =>
    JSON.stringify(isObject(item) ? keys.map((key) => fieldOf(item, key) ?? null) : item);
  const byKey = new Map(old.map((item) => [keyOf(item), item]));
  return (item) => byKey.get(keyOf(item));
}

function checkProperties(place: Place, value: Fields): Outcome {
  const { schema, path, old } = place;
  const field = fieldName(place);
  const outcome = held(0);
  const properties = schema.properties ?? {};
  const names = Object.keys(value);
  const oldField = (name: string): unknown => (isObject(old) ? fieldOf(old, name) : undefined);
  if (schema.minProperties !== undefined && names.length < schema.minProperties) {
    const message = inBody(path, `should have at least ${schema.minProperties} properties`);
    addError(outcome, invalid(field, names.length, message));
  }
  if (schema.maxProperties !== undefined && names.length > schema.maxProperties) {
    addError(outcome, tooMany(field, names.length, schema.maxProperties));
  }
  for (const name of names) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const further = { ...place, value: value[name], old: oldField(name) };
    if (property !== undefined) {
      add(outcome, check({ ...further, schema: property, path: path === "" ? name : `${path}.${name}` }));
    } else if (schema.additionalProperties === false) {
      addError(outcome, invalid(field, name, `${path}.${name} in body is a forbidden property`));
    } else if (typeof schema.additionalProperties === "object") {
      add(outcome, check({ ...further, schema: schema.additionalProperties, path: `${path}.${name}` }));
    }
  }
  for (const name of schema.required ?? []) {
    if (!Object.hasOwn(value, name)) addError(outcome, required(fieldName({ ...place, path: `${path}.${name}` })));
  }
  return outcome;
}

function checkCombinations(place: Place): Outcome {
  const { schema, path } = place;
  const { anyOf, oneOf, allOf, not } = schema;
  if (anyOf === undefined && oneOf === undefined && allOf === undefined && not === undefined) return held(1);
  const outcome = held(0);
  // Errors of this kind have no field of their own; the path is in the text.
  const report = (message: string): void => addError(outcome, invalid(nowhere, "", `${goQuote(path)} ${message}`));
  // An alternative as a whole counts even for a value that stays as it was; the fields below it are compared again.
  const against = (alternative: Schema): Outcome => checkValue({ ...place, schema: alternative });

  if (anyOf !== undefined && anyOf.length > 0) {
    const results = anyOf.map(against);
    const success = results.find(({ errors }) => errors.length === 0);
    if (success === undefined) report("must validate at least one schema (anyOf)");
    add(outcome, success ?? best(results));
  }
  if (oneOf !== undefined && oneOf.length > 0) {
    const results = oneOf.map(against);
    const successes = results.filter(({ errors }) => errors.length === 0);
    if (successes.length === 1) add(outcome, successes[0] ?? held(0));
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

/** Where a type has validation rules, the server says that an object with basic errors was not checked against them. */
function withRules(schema: Schema, errors: FieldError[]): FieldError[] {
  if (!errors.some(({ type }) => blocking.has(type)) || !hasRules(schema)) return errors;
  const message =
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";
  return [...errors, invalid(nowhere, null, message)];
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
  // Inside a cycle the answer is not final before the walk has come back to its root.
  if (found || seen.values().next().value === schema) schemasWithRules.set(schema, found);
  return found;
}
