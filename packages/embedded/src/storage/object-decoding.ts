import { isFields } from "@tmc/kube/json.ts";
import type { KubeObject, ObjectMeta } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { type ApiFailure, badRequest } from "../machinery/api-errors.ts";
import { formatUnknownField, prune } from "../machinery/prune.ts";
import { duplicateFields, fieldPositions } from "./duplicate-fields.ts";
import { cloneJson } from "./frozen-json.ts";
import type { ObjectTarget, ResourceTarget, WriteContext } from "./operations.ts";
import { servedApiVersion } from "./selection.ts";
import { typeErrorMessage } from "./type-errors.ts";

/**
 * Checks types and prunes unknown fields; depending on fieldValidation they are rejected or reported as warnings.
 * `failure` creates the error, which differs between bodies and patches.
 */
export function decoded(
  definition: ResourceDefinition,
  input: KubeObject,
  context: WriteContext,
  failure = (why: string): ApiFailure => badRequest(cannotBeHandled(definition, why)),
): KubeObject {
  if (definition.flavor === "builtin") {
    const message = typeErrorMessage(definition, input);
    if (message !== undefined) throw failure(message);
  }
  const { object, unknown } = prune(definition.schema, input);
  if (context.fieldValidation !== "Ignore") {
    const messages = strictDecodingErrors(unknown, context.body);
    if (context.fieldValidation === "Strict" && messages.length > 0) {
      throw failure(`strict decoding error: ${messages.join(", ")}`);
    }
    for (const message of messages) context.warn?.(message);
  }
  return {
    ...object,
    apiVersion: servedApiVersion(definition),
    kind: definition.kind,
    metadata: cloneJson(isFields(object.metadata) ? object.metadata : {}),
  };
}

/** Errors of strict decoding, in the order of the body. */
function strictDecodingErrors(unknown: readonly string[], body: string | undefined): string[] {
  const duplicates = body === undefined ? [] : duplicateFields(body);
  if (duplicates.length === 0) return unknown.map(formatUnknownField);
  const positions = fieldPositions(body ?? "");
  return [
    ...unknown.map((path) => ({ at: positions.get(path) ?? 0, problem: formatUnknownField(path) })),
    ...duplicates.map(({ path, at }) => ({ at, problem: `duplicate field "${path}"` })),
  ]
    .toSorted((a, b) => a.at - b.at)
    .map(({ problem: message }) => message);
}

const cannotBeHandled = ({ kind, version }: ResourceDefinition, why: string): string =>
  `${kind} in version "${version}" cannot be handled as a ${kind}: ${why}`;

/** Rejects a body whose namespace differs from the URL's; sets it if missing. */
export function matchNamespace({ definition, namespace }: ResourceTarget, metadata: ObjectMeta): void {
  if (!definition.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace !== undefined && metadata.namespace !== "" && metadata.namespace !== namespace) {
    throw badRequest("the namespace of the provided object does not match the namespace sent on the request");
  }
  if (namespace !== undefined) metadata.namespace = namespace;
}

/** Rejects a body whose name differs from the URL's. */
export function matchName({ name }: ObjectTarget, metadata: ObjectMeta): void {
  if (metadata.name === undefined || metadata.name === "") {
    throw badRequest(`the name of the object (${name} based on URL) was undeterminable: name must be provided`);
  }
  if (metadata.name !== name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  }
}
