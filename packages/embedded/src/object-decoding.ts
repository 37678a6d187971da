import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import { badRequest } from "./api-errors.ts";
import type { ApiFailure } from "./api-failure.ts";
import type { ResourceDefinition } from "./definition.ts";
import { duplicateFields, fieldPositions } from "./duplicate-fields.ts";
import { cloneJson } from "./frozen-json.ts";
import { isObject } from "./machinery/json-value.ts";
import { formatUnknownField, prune } from "./machinery/prune.ts";
import type { ObjectTarget, Target, WriteContext } from "./operations.ts";
import { apiVersionOf } from "./selection.ts";
import { typeErrorMessage } from "./type-errors.ts";

/**
 * Checks and prunes a body: unknown fields are dropped, and refused or warned of as asked. `failure` words a refusal, for a
 * body and a patch are refused differently.
 */
export function decoded(
  definition: ResourceDefinition,
  input: KubeObject,
  context: WriteContext,
  failure = (why: string): ApiFailure => badRequest(cannotBeHandled(definition, why)),
): KubeObject {
  if (definition.flavour === "builtin") {
    const message = typeErrorMessage(definition, input);
    if (message !== undefined) throw failure(message);
  }
  const { object, unknown } = prune(definition.schema, input);
  if (context.fieldValidation !== "Ignore") {
    const problems = fieldProblems(unknown, context.body);
    if (context.fieldValidation === "Strict" && problems.length > 0) {
      throw failure(`strict decoding error: ${problems.join(", ")}`);
    }
    for (const problem of problems) context.warn?.(problem);
  }
  return {
    ...object,
    apiVersion: apiVersionOf(definition),
    kind: definition.kind,
    metadata: cloneJson(isObject(object.metadata) ? object.metadata : {}),
  };
}

/** What strict decoding finds wrong, in the order of the body. */
function fieldProblems(unknown: readonly string[], body: string | undefined): string[] {
  const duplicates = body === undefined ? [] : duplicateFields(body);
  if (duplicates.length === 0) return unknown.map(formatUnknownField);
  const positions = fieldPositions(body ?? "");
  return [
    ...unknown.map((path) => ({ at: positions.get(path) ?? 0, problem: formatUnknownField(path) })),
    ...duplicates.map(({ path, at }) => ({ at, problem: `duplicate field "${path}"` })),
  ]
    .toSorted((a, b) => a.at - b.at)
    .map(({ problem }) => problem);
}

const cannotBeHandled = ({ kind, version }: ResourceDefinition, why: string): string =>
  `${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`;

/** Refuses a body of another namespace than the URL's, and fills in the URL's. */
export function matchNamespace({ definition, namespace }: Target, metadata: ObjectMeta): void {
  if (!definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace !== undefined && metadata.namespace !== "" && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (namespace !== undefined) metadata.namespace = namespace;
}

/** Refuses a body that names another object than the URL does. */
export function matchName({ name }: ObjectTarget, metadata: ObjectMeta): void {
  if (metadata.name === undefined || metadata.name === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
}
