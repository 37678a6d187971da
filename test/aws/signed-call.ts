import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";
import type { AwsEndpoint } from "./endpoint.ts";
import { callRaw } from "./raw-call.ts";

/** An operation of a service that speaks JSON and for which the project has no client. */
export type JsonOperation = Readonly<{
  /** The name it is signed for: `ecs`. */
  service: string;
  /** The target header: `AmazonEC2ContainerServiceV20141113.DescribeTaskDefinition`. */
  target: string;
  input: object;
}>;

/** Calls one operation, signed as the administrator; answers what the service said. */
export async function callSigned(endpoint: AwsEndpoint, { service, target, input }: JsonOperation): Promise<unknown> {
  const { hostname, port, host } = new URL(endpoint.url);
  const body = JSON.stringify(input);
  const signer = new SignatureV4({
    service,
    region: endpoint.region,
    credentials: endpoint.credentials,
    sha256: Sha256,
  });
  const signed = await signer.sign({
    method: "POST",
    protocol: "https:",
    hostname,
    ...(port === "" ? {} : { port: Number(port) }),
    path: "/",
    query: {},
    headers: { host, "content-type": "application/x-amz-json-1.1", "x-amz-target": target },
    body,
  });
  const answer = await callRaw({ url: `${endpoint.url}/`, ca: endpoint.ca, headers: signed.headers, body });
  if (answer.status !== 200) throw new Error(`aws: ${target}: ${answer.status} ${answer.body.slice(0, 300)}`);
  return JSON.parse(answer.body);
}

/** The hash that signing asks for, as Node has it. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {}
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Uint8Array {
  if (typeof data === "string") return Buffer.from(data);
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}
