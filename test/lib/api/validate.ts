import { Ajv, type ValidateFunction } from "ajv";
import { objectSchema, type ServedKind } from "../../../lib/api/kind.ts";
import type { OpenApiSchema } from "../../../lib/api/schema.ts";

/** Validates an object like a server; returns the errors by field. Unknown fields are errors, as for kubectl. */
export function faultsOf(kind: ServedKind, object: unknown): readonly string[] {
  const check = checkOf(kind);
  check(object);
  return (check.errors ?? []).map(({ instancePath, message, params }) => {
    const extra: unknown = params.additionalProperty;
    return `${instancePath.replaceAll("/", ".")}${typeof extra === "string" ? `.${extra}` : ""}: ${message ?? ""}`;
  });
}

const checks = new WeakMap<ServedKind, ValidateFunction>();

/** Compiling a schema is slow, so the result is cached per kind. */
function checkOf(kind: ServedKind): ValidateFunction {
  const known = checks.get(kind);
  if (known !== undefined) return known;
  // Ajv does not know the integer formats of OpenAPI.
  const ajv = new Ajv({
    allErrors: true,
    strict: false,
    formats: { int32: true, int64: true, "date-time": isTimestamp },
  });
  const check = ajv.compile(asJsonSchema(objectSchema(kind)));
  checks.set(kind, check);
  return check;
}

function isTimestamp(text: string): boolean {
  return !Number.isNaN(Date.parse(text)) && /^\d{4}-\d\d-\d\dT/.test(text);
}

/** Converts an OpenAPI schema to JSON Schema; unknown fields are forbidden unless the schema preserves them. */
function asJsonSchema(schema: OpenApiSchema): object {
  const { properties, items, additionalProperties, ...rest } = schema;
  if (rest["x-kubernetes-int-or-string"] === true) return { type: ["integer", "string"] };
  const plain = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !keyword.startsWith("x-kubernetes-")));
  return {
    ...plain,
    ...(items === undefined ? {} : { items: asJsonSchema(items) }),
    ...(additionalProperties === undefined ? {} : { additionalProperties: asJsonSchema(additionalProperties) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, inner]) => [name, asJsonSchema(inner)]),
          ),
          additionalProperties: rest["x-kubernetes-preserve-unknown-fields"] === true,
        }),
  };
}
