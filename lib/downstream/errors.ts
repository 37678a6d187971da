import { ApiError, type ApiErrorDetails } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";

/** Whether a 404 is about the object of this name, and not about its type or the path. */
export function isNamedNotFound(error: unknown, name: string): boolean {
  return error instanceof ApiError && error.fault === "not-found" && error.body?.details?.name === name;
}

/** Whether a write failed because the namespace of the object is gone or terminating. */
export function isNamespaceGone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { details } = error.body ?? {};
  if (error.fault === "not-found") return details?.kind === "namespaces";
  return (
    error.fault === "forbidden" && details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
  );
}

/** Whether a failed write may have been stored by the cluster. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === undefined || error.status >= 500;
}

/**
 * Sets the fault of a failed write as callers should handle it.
 *
 * Kubernetes answers 500 to a server-side apply with a field that is unknown, duplicate or of another type, whatever field
 * validation is requested. That is permanent until a user changes the object, so it becomes "invalid" with the server's message.
 */
export function classifyWriteError(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  if (isNamespaceGone(error)) return withFault(error, "unreachable");
  // The precondition failed: another object has the name now.
  if (error.body?.details?.causes?.some(({ field }) => field === "metadata.uid")) return withFault(error, "conflict");
  const isSchemaMismatch =
    error.status === 500 && error.body?.message?.startsWith("failed to create typed patch object");
  return isSchemaMismatch === true ? withFault(error, "invalid") : error;
}

function withFault(error: ApiError, fault: Fault): ApiError {
  const { status, reason, body, retryAfterSeconds, network } = error;
  const details: ApiErrorDetails = { status, reason, body, retryAfterSeconds, network };
  return new ApiError(fault, error.message, details, { cause: error });
}
