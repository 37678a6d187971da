import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError, type Fault } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import type { Transport } from "@tmc/kube/transport.ts";
import { type AwsIdentity, type AwsRequest, signRequest } from "./aws-sign.ts";

/** Sends a signed request to one of AWS's services and gives the text of a good answer; a bad one is one of our faults. */
export type CallAws = (
  request: AwsRequest,
  whose: Readonly<{ identity: AwsIdentity; service: string; region: string }>,
) => Promise<string>;

export type CallAwsOptions = Readonly<{
  clock: Clock;
  /** @default `node:https` */
  openTransport?: ((server: string) => Transport) | undefined;
}>;

const timeoutMs = 5_000;
/** A described cluster takes a few kilobytes. */
const largestBodyBytes = 1024 * 1024;

/**
 * Creates the way to services for which a whole client would be too much: one request each, and every client of the SDK adds
 * to the start of a function. The connections are kept per service and region.
 */
export function createCallAws({ clock, openTransport }: CallAwsOptions): CallAws {
  const open =
    openTransport ?? ((server) => createHttpsTransport({ server }, { connections: 4, largestBodyBytes, clock }));
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
    const code = codeOf(text);
    throw new ControllerError(faultOfAws(code, status), `${what}: ${status}${code === "" ? "" : ` ${code}`}`);
  };
}

/** The name of a refusal, in the JSON of newer services and the XML of older ones. */
function codeOf(text: string): string {
  const [, code = ""] =
    /"(?:__type|code)"\s*:\s*"(?:[\w.]+#)?(\w{1,80})"/i.exec(text) ?? /<Code>(\w{1,80})<\/Code>/.exec(text) ?? [];
  return code;
}

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
