import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/transport/https-transport.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import { type AwsIdentity, type AwsRequest, signRequest } from "./aws-sign.ts";

/** Sends a signed request to an AWS service and returns the body of a 2xx response. Every other outcome throws a ControllerError. */
export type CallAws = (
  request: AwsRequest,
  scope: Readonly<{ identity: AwsIdentity; service: string; region: string }>,
) => Promise<string>;

export type CallAwsOptions = Readonly<{
  clock: Clock;
  /** @default `node:https` */
  openTransport?: ((server: string) => Transport) | undefined;
}>;

const timeoutMs = 5_000;
/** An EKS DescribeCluster response has a few kilobytes. */
const maxBodyBytes = 1024 * 1024;

/**
 * Creates a caller for services of which TMC needs only one request each. Every SDK client would add to the cold start of a
 * function. Connections are kept per service and region.
 */
export function createCallAws({ clock, openTransport }: CallAwsOptions): CallAws {
  const open =
    openTransport ??
    ((server) => createHttpsTransport({ server }, { connections: 4, largestBodyBytes: maxBodyBytes, clock }));
  const transports = new Map<string, Transport>();
  const transportTo = (hostname: string): Transport => {
    const kept = transports.get(hostname) ?? open(`https://${hostname}`);
    transports.set(hostname, kept);
    return kept;
  };

  return async (request, { identity, service, region }) => {
    const what = `aws ${service} in ${region}`;
    let status: number;
    let text: string;
    try {
      const { path, headers } = await signRequest(request, { identity, service, region, atMs: clock.now() });
      const response = await transportTo(request.hostname).send({ method: request.method, path, headers, timeoutMs });
      status = response.status;
      text = await response.text();
    } catch (error) {
      throw errorOfAws(what, error);
    }
    if (status >= 200 && status < 300) return text;
    const code = errorCodeOf(text);
    throw new ControllerError(faultOfAws(code, status), `${what}: ${status}${code === "" ? "" : ` ${code}`}`);
  };
}

/** Extracts the error code from a JSON (newer services) or XML (older services) error response. */
function errorCodeOf(text: string): string {
  const [, code = ""] =
    /"(?:__type|code)"\s*:\s*"(?:[\w.]+#)?(\w{1,80})"/i.exec(text) ?? /<Code>(\w{1,80})<\/Code>/.exec(text) ?? [];
  return code;
}

/** Faults by AWS error code, for codes whose HTTP status is not specific enough. */
const faultsByCode: Readonly<Record<string, Fault>> = {
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
  // Secrets Manager returns this for a secret that is scheduled for deletion, which cannot be read anymore.
  InvalidRequestException: "not-found",
  InvalidParameterException: "invalid",
  ValidationException: "invalid",
};

/** Maps an AWS error to a fault. Unknown errors are treated as transient. */
export function faultOfAws(code: string, status: number | undefined): Fault {
  const known = faultsByCode[code];
  if (known !== undefined) return known;
  if (status === 404) return "not-found";
  if (status === 401 || status === 403) return "forbidden";
  if (status === 429) return "throttled";
  if (status !== undefined && status >= 400 && status < 500) return "invalid";
  return "unreachable";
}

/** Converts an error of an AWS client to a ControllerError. AWS's message names roles and accounts, so it is kept only as the cause. */
export function errorOfAws(what: string, error: unknown): ControllerError {
  if (error instanceof ControllerError) return error;
  const name = error instanceof Error ? error.name : "unknown failure";
  const fault = faultOf(error) ?? faultOfAws(name, statusOf(error));
  const why = fault === "unreachable" ? "unreachable" : name;
  return new ControllerError(fault, `${what}: ${why}`, { cause: error });
}

function statusOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("$metadata" in error)) return undefined;
  const { $metadata } = error;
  if (typeof $metadata !== "object" || $metadata === null || !("httpStatusCode" in $metadata)) return undefined;
  return typeof $metadata.httpStatusCode === "number" ? $metadata.httpStatusCode : undefined;
}
