import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";

/** The names under which AWS's services refuse, where the status of the answer does not say enough. */
const faultsByName: Readonly<Record<string, Fault>> = {
  ResourceNotFoundException: "not-found",
  AccessDenied: "forbidden",
  AccessDeniedException: "forbidden",
  UnauthorizedException: "forbidden",
  UnrecognizedClientException: "forbidden",
  InvalidClientTokenId: "forbidden",
  SignatureDoesNotMatch: "forbidden",
  ExpiredToken: "forbidden",
  ExpiredTokenException: "forbidden",
  CredentialsProviderError: "forbidden",
  DecryptionFailure: "forbidden",
  Throttling: "throttled",
  ThrottlingException: "throttled",
  RequestLimitExceeded: "throttled",
  TooManyRequestsException: "throttled",
  // A secret that is marked for deletion answers so; nobody can use it any more.
  InvalidRequestException: "not-found",
  InvalidParameterException: "invalid",
  ValidationException: "invalid",
};

/** Tells what a refusal of AWS means for us; whatever is not known may pass. */
export function faultOfAws(name: string, status: number | undefined): Fault {
  const known = faultsByName[name];
  if (known !== undefined) return known;
  if (status === 404) return "not-found";
  if (status === 401 || status === 403) return "forbidden";
  if (status === 429) return "throttled";
  if (status !== undefined && status >= 400 && status < 500) return "invalid";
  return "unreachable";
}

/** Makes an error of an AWS client one of ours. AWS's own words name roles and accounts: they stay with the cause. */
export function errorOfAws(what: string, error: unknown): ControllerError {
  if (error instanceof ControllerError) return error;
  const name = error instanceof Error ? error.name : "unknown failure";
  const fault = faultOf(error) ?? faultOfAws(name, statusOf(error));
  const why = fault === "unreachable" ? "cannot be asked" : name;
  return new ControllerError(fault, `${what}: ${why}`, { cause: error });
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const { $metadata } = error;
  if (typeof $metadata !== "object" || $metadata === null || !("httpStatusCode" in $metadata)) return undefined;
  return typeof $metadata.httpStatusCode === "number" ? $metadata.httpStatusCode : undefined;
}
