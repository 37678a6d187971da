import type { Status } from "@tmc/kube/kube-object.ts";
import { type FieldError, formatInvalid, invalidDetails } from "./field-error.ts";

/** A failed request with the Status that the client gets. */
export class ApiFailure extends Error {
  override readonly name = "ApiFailure";
  readonly status: Status & { code: number };
  /** If set, also sent as a header. */
  readonly retryAfterSeconds: number | undefined;

  constructor(code: number, reason: string, message: string, details?: Status["details"]) {
    super(message);
    this.retryAfterSeconds = details?.retryAfterSeconds;
    this.status = {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message,
      ...(reason === "" ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

type Named = Readonly<{ group: string; plural: string }>;

/** `deployments.apps`; in the core group just `pods`. */
export const qualified = (group: string, resource: string): string =>
  group === "" ? resource : `${resource}.${group}`;

const detailsOf = (group: string, kind: string, name: string): NonNullable<Status["details"]> => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind,
});

/** 404 for an object that does not exist. */
export const objectNotFound = ({ group, plural }: Named, name: string): ApiFailure =>
  new ApiFailure(404, "NotFound", `${qualified(group, plural)} "${name}" not found`, detailsOf(group, plural, name));

/** 404 for a path below a served group that matches no type or subresource. */
export const resourceNotFound = (): ApiFailure =>
  new ApiFailure(404, "NotFound", "the server could not find the requested resource", {});

/** 405 for a verb that the type or subresource does not support. */
export const methodNotAllowed = (): ApiFailure =>
  new ApiFailure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});

/** 409 for a name that already exists. */
export function alreadyExists({ group, plural }: Named, name: string, beingDeleted = false): ApiFailure {
  const message = `${beingDeleted ? "object is being deleted: " : ""}${qualified(group, plural)} "${name}" already exists`;
  return new ApiFailure(409, "AlreadyExists", message, detailsOf(group, plural, name));
}

/** 409 for a concurrent write or a failed precondition; `kind` is a plural or, for deletions, a kind. */
export const conflict = (group: string, kind: string, name: string, why: string): ApiFailure =>
  new ApiFailure(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(group, kind)} "${name}": ${why}`,
    detailsOf(group, kind, name),
  );

export const modifiedMessage =
  "the object has been modified; please apply your changes to the latest version and try again";

export const badRequest = (message: string): ApiFailure => new ApiFailure(400, "BadRequest", message);

/** 403 of admission for one object. */
export const forbiddenObject = (
  { group, plural }: Named,
  name: string,
  why: string,
  causes?: NonNullable<Status["details"]>["causes"],
): ApiFailure =>
  new ApiFailure(403, "Forbidden", `${qualified(group, plural)} "${name}" is forbidden: ${why}`, {
    ...detailsOf(group, plural, name),
    ...(causes === undefined ? {} : { causes }),
  });

/** 422 for an object with invalid fields. */
export const invalidObject = (
  { group, kind }: Readonly<{ group: string; kind: string }>,
  name: string,
  errors: readonly FieldError[],
): ApiFailure => {
  const details = invalidDetails(kind, group, name, errors);
  // Go omits empty fields.
  if (name === "") delete details.name;
  if (kind === "") delete details.kind;
  return new ApiFailure(422, "Invalid", formatInvalid(kind, group, name, errors), details);
};

/** 422 for invalid request parameters (`CreateOptions`, `ListOptions`, …). */
export const invalidOptions = (kind: string, errors: readonly FieldError[]): ApiFailure =>
  invalidObject({ group: "meta.k8s.io", kind }, "", errors);

/** 410 for a revision that has been compacted. */
export const expired = (message: string): ApiFailure => new ApiFailure(410, "Expired", message);

/** 500 without a reason, as for an unexpected error in a real server. */
export const unexpectedError = (message: string): ApiFailure => new ApiFailure(500, "", message);

/** 415 with the accepted media types. */
export const unsupportedMediaType = (accepted: readonly string[]): ApiFailure =>
  new ApiFailure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );
