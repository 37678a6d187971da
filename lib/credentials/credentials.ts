import { createHash, X509Certificate } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey } from "../model/key.ts";

/** What a source of credentials may look at. */
export type CredentialsWanted = Readonly<{ key: ObjectKey; registration: ClusterRegistration }>;

/** The way into a cluster. */
export type CredentialsFound = Readonly<{
  kind: "found";
  endpoint: Endpoint;
  /** The same as long as the same connections will do; it gives no secret away. */
  fingerprint: string;
  /** Servers that a tenant names are connected to only as far as the endpoint rules allow. */
  givenBy: "operator" | "tenant";
  expiresMs?: number | undefined;
  /** Takes what must not be read out of any text that the cluster had a part in. */
  conceal: (text: string) => string;
}>;

/** There is no way in, and why, in words for the registration's owner. */
export type NotConfigured = Readonly<{
  kind: "not-configured";
  reason:
    | "ClusterNotConfigured"
    | "CredentialsInvalid"
    | "CredentialsExpired"
    | "EndpointNotAllowed"
    | "PermissionClaimNotAccepted";
  message: string;
  expiresMs?: number | undefined;
}>;

/** What a source of credentials answers. */
export type CredentialsOutcome = CredentialsFound | NotConfigured;

/**
 * Where credentials for clusters come from. What is wrong with the credentials is an answer; only a source that cannot be
 * asked just now throws.
 */
export interface CredentialSource {
  find(wanted: CredentialsWanted, signal: AbortSignal): Promise<CredentialsOutcome>;
  /** Lets go of what is remembered for a registration: it has gone, its secret has changed, or the cluster refused it. */
  forget(key: ObjectKey): void;
}

/** The ways in which a registration can name its credentials: the fields of `spec.credentials`. */
export type NamedCredentials = keyof NonNullable<ClusterRegistration["spec"]["credentials"]>;

/** A source for each way that is offered, and one for registrations that name none. */
export type CredentialSources = Readonly<Partial<Record<NamedCredentials | "otherwise", CredentialSource | undefined>>>;

const namedCredentials: readonly NamedCredentials[] = ["secretRef", "eks", "secretsManager"];

/** Asks the source that a registration names, and the operator's own where it names none. */
export function createCredentialSource(sources: CredentialSources): CredentialSource {
  return {
    find: async (wanted, signal) => {
      const credentials = wanted.registration.spec.credentials;
      const named = namedCredentials.find((each) => credentials?.[each] !== undefined);
      const source = sources[named ?? "otherwise"];
      if (source !== undefined) return source.find(wanted, signal);
      if (named === undefined) return notConfigured("no credentials are configured for the cluster");
      return notConfigured(`credentials of the kind ${named} are not offered here`);
    },
    forget: (key) => {
      // The same one may stand for two ways.
      for (const source of new Set(Object.values(sources))) source?.forget(key);
    },
  };
}

/** Says that there is no way in; the words are for the registration's owner and hold no secret. */
export function notConfigured(
  message: string,
  reason: NotConfigured["reason"] = "ClusterNotConfigured",
): NotConfigured {
  return { kind: "not-configured", reason, message };
}

/** Completes a way into a cluster: its fingerprint, when it ends, what must not be read. Credentials that have ended are none. */
export async function asOutcome(
  endpoint: Endpoint,
  { givenBy, nowMs }: Readonly<{ givenBy: CredentialsFound["givenBy"]; nowMs: number }>,
): Promise<CredentialsOutcome> {
  const token = (await endpoint.token?.())?.trim();
  const expiresMs = credentialsExpireMs({ certificate: endpoint.certificate, token });
  if (expiresMs !== undefined && expiresMs <= nowMs) {
    const message = "the credentials for the cluster have expired";
    return { kind: "not-configured", reason: "CredentialsExpired", message, expiresMs };
  }
  return {
    kind: "found",
    endpoint,
    fingerprint: fingerprintOf(endpoint, token),
    givenBy,
    expiresMs,
    conceal: (text) => concealed(text, [token, endpoint.key]),
  };
}

/** The same text for the same way into a cluster; it gives no secret away. */
export function fingerprintOf({ token: _, ...endpoint }: Endpoint, token: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([endpoint, token ?? null]))
    .digest("base64url");
}

function concealed(text: string, secrets: readonly (string | undefined)[]): string {
  let rest = text;
  for (const secret of secrets) if (secret !== undefined && secret !== "") rest = rest.replaceAll(secret, "…");
  return rest;
}

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

/** A plain Kubernetes hub has no logical clusters; no logical cluster can be called this. */
const plainHubName = "_";

/** How a logical cluster is called in names and tags outside the hub. */
export function tenantName(logicalCluster: string): string {
  if (logicalCluster === "") return plainHubName;
  // Keys come from queues: what is put into the name of a secret or a role must not lead anywhere else.
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(logicalCluster)) {
    throw new ControllerError("invalid", `logical cluster ${JSON.stringify(logicalCluster)}: is not the name of one`);
  }
  return logicalCluster;
}
