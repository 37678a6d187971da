import { createHash, createHmac, type Hash, type Hmac } from "node:crypto";
import { SignatureV4 } from "@smithy/signature-v4";

/** Keys of an AWS identity; a session's have a token too. */
export type AwsIdentity = Readonly<{
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}>;

/** Gives the keys that hold now; who gives them renews them. */
export type AwsCredentials = () => Promise<AwsIdentity>;

/** A request to one of AWS's services, without a body. */
export type AwsRequest = Readonly<{
  method: "GET";
  hostname: string;
  path: string;
  query?: Readonly<Record<string, string>> | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}>;

/** Who signs, for which service, where and when. */
export type Signing = Readonly<{ identity: AwsIdentity; service: string; region: string; atMs: number }>;

/** A request that is ready to be sent. */
export type SignedRequest = Readonly<{ path: string; headers: Readonly<Record<string, string>> }>;

/** Signs a request in its headers. */
export async function signRequest(request: AwsRequest, signing: Signing): Promise<SignedRequest> {
  const signed = await signerOf(signing).sign(plainRequest(request), { signingDate: new Date(signing.atMs) });
  return { path: pathOf(request.path, signed.query ?? {}), headers: signed.headers };
}

/** Signs a request in its URL, so that whoever has the URL can send it for some seconds. The headers named stay headers. */
export async function presignUrl(
  request: AwsRequest,
  signing: Signing,
  { expiresInSeconds, signedHeaders }: Readonly<{ expiresInSeconds: number; signedHeaders: readonly string[] }>,
): Promise<string> {
  const signed = await signerOf(signing).presign(plainRequest(request), {
    signingDate: new Date(signing.atMs),
    expiresIn: expiresInSeconds,
    unhoistableHeaders: new Set(signedHeaders),
  });
  return `https://${request.hostname}${pathOf(request.path, signed.query ?? {})}`;
}

/** The domain of AWS's services in a region. */
export function awsDomain(region: string): string {
  return region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com";
}

/** The partition that a region's ARNs name. */
export function awsPartition(region: string): string {
  if (region.startsWith("cn-")) return "aws-cn";
  return region.startsWith("us-gov-") ? "aws-us-gov" : "aws";
}

/** SHA-256 of Node itself, in the form that the signer wants. */
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

function signerOf({ identity, service, region }: Signing): SignatureV4 {
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

/** As AWS counts its signatures: four characters more than encodeURIComponent escapes. */
function escapeUri(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
