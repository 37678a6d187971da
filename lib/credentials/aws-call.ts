import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createHttpsTransport } from "@tmc/kube/https-transport.ts";
import type { Transport } from "@tmc/kube/transport.ts";
import { errorOfAws, faultOfAws } from "./aws-fault.ts";
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
