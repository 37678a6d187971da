import { ApiError, type ApiErrorDetails } from "@tmc/kube/errors.ts";
import type { Fault } from "@tmc/kube/fault.ts";

/** Tells whether a 404 is about the object of this name, and not about its type or the path. */
export function isNamedNotFound(error: unknown, name: string): boolean {
  return error instanceof ApiError && error.fault === "not-found" && error.body?.details?.name === name;
}

/** Tells whether something could not be written because its namespace has gone, or is going. */
export function isNamespaceGone(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false;
  const { details } = error.body ?? {};
  if (error.fault === "not-found") return details?.kind === "namespaces";
  return (
    error.fault === "forbidden" && details?.causes?.some(({ reason }) => reason === "NamespaceTerminating") === true
  );
}

/** Tells whether nobody knows if the cluster has acted on a write. */
export function isOutcomeUnknown(error: unknown): boolean {
  return !(error instanceof ApiError) || error.status === undefined || error.status >= 500;
}

/**
 * Gives the failure of a write the fault that it has for its caller.
 *
 * Kubernetes answers 500 to a server-side apply with a field that it does not know, of another type, or given twice, whatever
 * validation is asked for. That lasts until somebody changes the object, and its words are what that person needs.
 */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof ApiError)) return error;
  if (isNamespaceGone(error)) return withFault(error, "unreachable");
  // The object that it was decided on is not the one that has the name now.
  if (error.body?.details?.causes?.some(({ field }) => field === "metadata.uid")) return withFault(error, "conflict");
  const isUntyped = error.status === 500 && error.body?.message?.startsWith("failed to create typed patch object");
  return isUntyped === true ? withFault(error, "invalid") : error;
}

function withFault(error: ApiError, fault: Fault): ApiError {
  const { status, reason, body, retryAfterSeconds, network } = error;
  const details: ApiErrorDetails = { status, reason, body, retryAfterSeconds, network };
  return new ApiError(fault, error.message, details, { cause: error });
}
