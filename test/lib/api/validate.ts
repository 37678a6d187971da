import { Ajv, type ValidateFunction } from "ajv";
import { objectSchema, type ServedKind } from "../../../lib/api/kind.ts";
import type { OpenApiSchema } from "../../../lib/api/schema.ts";

/** Says what a server would hold against the object, by field; empty when it is fine. Unknown fields are faults too, as kubectl treats them. */
export function faultsOf(kind: ServedKind, object: unknown): readonly string[] {
  const check = checkOf(kind);
  check(object);
  return (check.errors ?? []).map(({ instancePath, message, params }) => {
    const extra: unknown = params.additionalProperty;
    return `${instancePath.replaceAll("/", ".")}${typeof extra === "string" ? `.${extra}` : ""}: ${message ?? ""}`;
  });
}

const checks = new WeakMap<ServedKind, ValidateFunction>();

/** To make it takes long, so each kind's is made once. */
function checkOf(kind: ServedKind): ValidateFunction {
  const known = checks.get(kind);
  if (known !== undefined) return known;
  // The formats of OpenAPI that are not JSON Schema's are told apart by the server alone.
  const ajv = new Ajv({ allErrors: true, strict: false, formats: { int32: true, int64: true, "date-time": isMoment } });
  const check = ajv.compile(asJsonSchema(objectSchema(kind)));
  checks.set(kind, check);
  return check;
}

function isMoment(words: string): boolean {
  return !Number.isNaN(Date.parse(words)) && /^\d{4}-\d\d-\d\dT/.test(words);
}

/** The OpenAPI schema in the words of JSON Schema; fields that it does not name are forbidden unless it keeps them. */
function asJsonSchema(schema: OpenApiSchema): object {
  const { properties, items, additionalProperties, ...rest } = schema;
  if (rest["x-kubernetes-int-or-string"] === true) return { type: ["integer", "string"] };
  const plain = Object.fromEntries(Object.entries(rest).filter(([word]) => !word.startsWith("x-kubernetes-")));
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
