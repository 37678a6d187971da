import type { Status } from "@tmc/kube/kube-object.ts";
import { ApiFailure } from "./api-failure.ts";
import type { ResourceDefinition } from "./definition.ts";
import { type FieldError, formatInvalid, invalidDetails } from "./machinery/field-error.ts";

type Named = Readonly<{ group: string; plural: string }>;

/** `deployments.apps`, and for the core group just `pods`. */
export const qualified = (group: string, resource: string): string =>
  group === "" ? resource : `${resource}.${group}`;

const detailsOf = (group: string, kind: string, name: string): NonNullable<Status["details"]> => ({
  ...(name === "" ? {} : { name }),
  ...(group === "" ? {} : { group }),
  kind,
});

/** 404 for an object that is not there. */
export const objectNotFound = ({ group, plural }: Named, name: string): ApiFailure =>
  new ApiFailure(404, "NotFound", `${qualified(group, plural)} "${name}" not found`, detailsOf(group, plural, name));

/** 404 for a path below a served group that names no served type or subresource. */
export const resourceNotFound = (): ApiFailure =>
  new ApiFailure(404, "NotFound", "the server could not find the requested resource", {});

/** 405 for a verb that the type or subresource does not have. */
export const methodNotAllowed = (): ApiFailure =>
  new ApiFailure(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", {});

/** 409 for a name that is taken. */
export function alreadyExists({ group, plural }: Named, name: string, beingDeleted = false): ApiFailure {
  const message = `${beingDeleted ? "object is being deleted: " : ""}${qualified(group, plural)} "${name}" already exists`;
  return new ApiFailure(409, "AlreadyExists", message, detailsOf(group, plural, name));
}

/** 409 for a write that another write or a precondition stands against; `kind` is a plural or, as for deletions, a kind. */
export const conflict = (group: string, kind: string, name: string, why: string): ApiFailure =>
  new ApiFailure(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualified(group, kind)} "${name}": ${why}`,
    detailsOf(group, kind, name),
  );

export const modifiedMessage =
  "the object has been modified; please apply your changes to the latest version and try again";

/** 400 with the given words. */
export const badRequest = (message: string): ApiFailure => new ApiFailure(400, "BadRequest", message);

/** 403 of an admission check, about one object. */
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

/** 422 for an object with errors in its fields. */
export const invalidObject = (
  { group, kind }: Readonly<{ group: string; kind: string }>,
  name: string,
  errors: readonly FieldError[],
): ApiFailure => {
  const details = invalidDetails(kind, group, name, errors);
  // Go leaves out what is empty.
  if (name === "") delete details.name;
  if (kind === "") delete details.kind;
  return new ApiFailure(422, "Invalid", formatInvalid(kind, group, name, errors), details);
};

/** 422 for wrong parameters of a request (`CreateOptions`, `ListOptions` …). */
export const invalidOptions = (kind: string, errors: readonly FieldError[]): ApiFailure =>
  invalidObject({ group: "meta.k8s.io", kind }, "", errors);

/** 410 for a revision that is no longer known. */
export const expired = (message: string): ApiFailure => new ApiFailure(410, "Expired", message);

/** 500 without a reason, as a server answers for an error it did not foresee. */
export const unforeseen = (message: string): ApiFailure => new ApiFailure(500, "", message);

/** 415 with what would have been accepted. */
export const unsupportedMediaType = (accepted: readonly string[]): ApiFailure =>
  new ApiFailure(
    415,
    "UnsupportedMediaType",
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );

/** The name of a type in messages: its kind and group. */
export const kindOf = ({ group, kind }: ResourceDefinition): Readonly<{ group: string; kind: string }> => ({
  group,
  kind,
});
