import type { Status } from "@tmc/kube/kube-object.ts";
import { goJson, goQuote } from "./go-text.ts";

/** Suffixes of the cause reasons in a Status (`FieldValueRequired`, …). */
export type FieldErrorType =
  | "Required"
  | "Invalid"
  | "TypeInvalid"
  | "NotSupported"
  | "Duplicate"
  | "TooLong"
  | "TooMany"
  | "Forbidden"
  | "NotFound";

/** An invalid field; `message` becomes `details.causes[].message`. */
export type FieldError = Readonly<{ type: FieldErrorType; field: string; message: string }>;

const typeTexts: Readonly<Record<FieldErrorType, string>> = {
  Required: "Required value",
  Invalid: "Invalid value",
  TypeInvalid: "Invalid value",
  NotSupported: "Unsupported value",
  Duplicate: "Duplicate value",
  TooLong: "Too long",
  TooMany: "Too many",
  Forbidden: "Forbidden",
  NotFound: "Not found",
};

export const required = (field: string, detail = ""): FieldError => withoutValue("Required", field, detail);
/** A change or value that is not allowed here. */
export const forbidden = (field: string, detail: string): FieldError => withoutValue("Forbidden", field, detail);
/** A malformed or out-of-range value. */
export const invalid = (field: string, value: unknown, detail: string): FieldError =>
  withValue("Invalid", field, value, detail);
/** A value of the wrong JSON type or format. */
export const typeInvalid = (field: string, value: unknown, detail: string): FieldError =>
  withValue("TypeInvalid", field, value, detail);
/** A value that must be unique. */
export const duplicate = (field: string, value: unknown): FieldError => withValue("Duplicate", field, value, "");
/** A value outside of the supported ones. */
export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError =>
  withValue(
    "NotSupported",
    field,
    value,
    supported.length === 0 ? "" : `supported values: ${supported.map(goQuote).join(", ")}`,
  );
/** A string that is longer than `max`. */
export const tooLong = (field: string, max: number): FieldError =>
  withoutValue("TooLong", field, `may not be more than ${max} ${max === 1 ? "byte" : "bytes"}`);
/** A list or object with more than `max` items. */
export const tooMany = (field: string, actual: number, max: number): FieldError =>
  withValue("TooMany", field, actual, `must have at most ${max} ${max === 1 ? "item" : "items"}`);

function withoutValue(type: FieldErrorType, field: string, detail: string): FieldError {
  return { type, field, message: detail === "" ? typeTexts[type] : `${typeTexts[type]}: ${detail}` };
}

function withValue(type: FieldErrorType, field: string, value: unknown, detail: string): FieldError {
  const shown = typeof value === "string" ? goQuote(value) : goJson(value);
  return { type, field, message: `${typeTexts[type]}: ${shown}${detail === "" ? "" : `: ${detail}`}` };
}

/** The message of the 422 for these errors. */
export function formatInvalid(kind: string, group: string, name: string, errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))];
  const subject = `${group === "" ? kind : `${kind}.${group}`} ${goQuote(name)} is invalid`;
  if (texts.length === 0) return subject;
  return `${subject}: ${texts.length === 1 ? texts.join("") : `[${texts.join(", ")}]`}`;
}

/** The details of the 422 for these errors. */
export function invalidDetails(
  kind: string,
  group: string,
  name: string,
  errors: readonly FieldError[],
): NonNullable<Status["details"]> {
  return {
    name,
    ...(group === "" ? {} : { group }),
    kind,
    causes: errors.map(({ type, field, message }) => ({ reason: `FieldValue${type}`, message, field })),
  };
}
