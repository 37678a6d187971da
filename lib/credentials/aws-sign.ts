import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";

/** Access keys of an AWS identity; temporary credentials also have a session token. */
export type AwsIdentity = Readonly<{
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}>;

/** Returns currently valid access keys; the provider refreshes them. */
export type AwsCredentials = () => Promise<AwsIdentity>;

/** A request to an AWS service, without a body. */
export type AwsRequest = Readonly<{
  method: "GET";
  hostname: string;
  path: string;
  query?: Readonly<Record<string, string>> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}>;

/** The inputs of a SigV4 signature besides the request. */
export type SigningScope = Readonly<{ identity: AwsIdentity; service: string; region: string; atMs: number }>;

export type SignedRequest = Readonly<{ path: string; headers: Readonly<Record<string, string>> }>;

/** Signs a request with an Authorization header. */
export async function signRequest(request: AwsRequest, signing: SigningScope): Promise<SignedRequest> {
  const signed = await createSigner(signing).sign(plainRequest(request), { signingDate: new Date(signing.atMs) });
  return { path: pathOf(request.path, signed.query ?? {}), headers: signed.headers };
}

/** Presigns a request: everyone who has the URL can send it until it expires. `signedHeaders` stay headers and are signed as such. */
export async function presignUrl(
  request: AwsRequest,
  signing: SigningScope,
  { expiresInSeconds, signedHeaders }: Readonly<{ expiresInSeconds: number; signedHeaders: readonly string[] }>,
): Promise<string> {
  const signed = await createSigner(signing).presign(plainRequest(request), {
    signingDate: new Date(signing.atMs),
    expiresIn: expiresInSeconds,
    unhoistableHeaders: new Set(signedHeaders),
  });
  return `https://${request.hostname}${pathOf(request.path, signed.query ?? {})}`;
}

/** Returns the DNS suffix of AWS services in a region. */
export function awsDomain(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

/** Returns the ARN partition of a region. */
export function awsPartition(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/** Node's SHA-256 with the interface that SignatureV4 expects. */
class Sha256 {
  readonly #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#hash = secret === undefined ? createHash("sha256") : createHmac("sha256", bytesOf(secret));
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === "string") return Buffer.from(data, "utf8");
  return ArrayBuffer.isView(data) ? Buffer.from(data.buffer, data.byteOffset, data.byteLength) : Buffer.from(data);
}

function createSigner({ identity, service, region }: SigningScope): SignatureV4 {
  const { sessionToken, ...keys } = identity;
  return new SignatureV4({
    credentials: { ...keys, ...(sessionToken !== undefined && { sessionToken }) },
    service,
    region,
    sha256: Sha256,
    applyChecksum: false,
  });
}

function plainRequest({ method, hostname, path, query = {}, headers = {} }: AwsRequest) {
  return {
    method,
    protocol: "https:",
    hostname,
    path,
    query: { ...query },
    headers: { host: hostname, ...headers },
  };
}

function pathOf(path: string, query: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(query).map(([name, value]) => `${escapeUri(name)}=${escapeUri(String(value))}`);
  return parts.length === 0 ? path : `${path}?${parts.join("&")}`;
}

/** SigV4 also escapes the five characters !'()* that encodeURIComponent leaves. */
function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
