import { X509Certificate } from "node:crypto";

/** Longer tokens are none that say when they end. */
const longestTokenLength = 64 * 1024;

/**
 * When credentials end: the end of the client certificate or the `exp` of the token, whichever comes first, in milliseconds
 * since the epoch. Undefined where neither says; a token that is no JWT keeps its end to itself. Nothing is verified: the
 * cluster does that.
 */
export function credentialsExpireMs(
  credentials: Readonly<{ certificate?: string | undefined; token?: string | undefined }>,
): number | undefined {
  const ends = [certificateEndMs(credentials.certificate), tokenEndMs(credentials.token)].filter(
    (end) => end !== undefined,
  );
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function certificateEndMs(pem: string | undefined): number | undefined {
  if (pem === undefined) return undefined;
  try {
    const end = new X509Certificate(pem).validToDate.getTime();
    return Number.isNaN(end) ? undefined : end;
  } catch {
    return undefined; // who connects with it will say what is wrong
  }
}

function tokenEndMs(token: string | undefined): number | undefined {
  if (token === undefined || token.length > longestTokenLength) return undefined;
  const [, payload, signature, ...rest] = token.split(".");
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (typeof claims !== "object" || claims === null || !("exp" in claims)) return undefined;
    const { exp } = claims;
    // Beyond this, no date can be written.
    return typeof exp === "number" && exp > 0 && exp < 8.64e12 ? Math.floor(exp * 1000) : undefined;
  } catch {
    return undefined;
  }
}
