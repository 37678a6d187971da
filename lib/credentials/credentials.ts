import { createHash, X509Certificate } from "node:crypto";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey } from "../model/key.ts";

export type CredentialsRequest = Readonly<{
  key: ObjectKey;
  registration: ClusterRegistration;
  /**
   * Who chose the Secret in `spec.credentials.secretRef`. The Secret has to allow its use if the author of the registration
   * chose it: that author may not be allowed to read Secrets. @default "registration"
   */
  secretChosenBy?: "registration" | "source" | undefined;
}>;

/** In milliseconds since the epoch; unset if the credentials do not say when they expire. */
export type CredentialLifetime = Readonly<{
  expiresMs?: number | undefined;
  /** When they should be renewed. */
  renewMs?: number | undefined;
}>;

/** Endpoint and credentials of a cluster. */
export type CredentialsFound = CredentialLifetime &
  Readonly<{
    kind: "found";
    endpoint: Endpoint;
    /** Changes if a new connection is needed. Reveals no secret. */
    hash: string;
    /** Connections to servers that a tenant provided are subject to the endpoint rules. */
    providedBy: "operator" | "tenant";
    /** Removes the credentials from a text that may contain a response of the cluster. */
    redact: (text: string) => string;
  }>;

/** No usable credentials. The message is for the owner of the registration. */
export type CredentialsNotConfigured = CredentialLifetime &
  Readonly<{
    kind: "not-configured";
    reason:
      | "ClusterNotConfigured"
      | "CredentialsInvalid"
      | "CredentialsExpired"
      | "EndpointNotAllowed"
      | "PermissionClaimNotAccepted";
    message: string;
  }>;

export type CredentialsOutcome = CredentialsFound | CredentialsNotConfigured;

/**
 * Finds the credentials of registered clusters. Missing or invalid credentials are a result; `find` throws only if the source
 * cannot be reached.
 */
export interface CredentialSource {
  find(request: CredentialsRequest, signal: AbortSignal): Promise<CredentialsOutcome>;
  /** Drops cached credentials: the registration was deleted, its secret changed, or the cluster rejected them. */
  invalidate(key: ObjectKey): void;
}

/** The fields of `spec.credentials`, of which a registration sets at most one. */
export type CredentialsField = keyof NonNullable<ClusterRegistration["spec"]["credentials"]>;

/** A source per enabled field of `spec.credentials`, and a default for registrations without credentials. */
export type CredentialSources = Readonly<Partial<Record<CredentialsField | "default", CredentialSource | undefined>>>;

const credentialsFields: readonly CredentialsField[] = ["secretRef", "eks", "secretsManager"];

/** Creates a source that delegates to the one for the field that the registration sets, or to the default. */
export function createCredentialSource(sources: CredentialSources): CredentialSource {
  return {
    find: async (request, signal) => {
      const credentials = request.registration.spec.credentials;
      const named = credentialsFields.find((each) => credentials?.[each] !== undefined);
      const source = sources[named ?? "default"];
      if (source !== undefined) return source.find(request, signal);
      if (named === undefined) return notConfigured("no credentials are configured for the cluster");
      return notConfigured(`spec.credentials.${named} is not enabled on this installation`);
    },
    invalidate: (key) => {
      // One source may serve two fields.
      for (const source of new Set(Object.values(sources))) source?.invalidate(key);
    },
  };
}

/** Returns a NotConfigured outcome. The message is shown to the owner of the registration and must contain no secret. */
export function notConfigured(
  message: string,
  reason: CredentialsNotConfigured["reason"] = "ClusterNotConfigured",
): CredentialsNotConfigured {
  return { kind: "not-configured", reason, message };
}

/** Returns the outcome for an endpoint: its hash, expiry time and redaction. Expired credentials are not usable. */
export async function outcomeOf(
  endpoint: Endpoint,
  { providedBy, nowMs }: Readonly<{ providedBy: CredentialsFound["providedBy"]; nowMs: number }>,
): Promise<CredentialsOutcome> {
  const token = (await endpoint.token?.())?.trim();
  const { expiresMs, renewMs } = credentialLifetime({ certificate: endpoint.certificate, token });
  if (expiresMs !== undefined && expiresMs <= nowMs) {
    const message = "the credentials for the cluster have expired";
    return { kind: "not-configured", reason: "CredentialsExpired", message, expiresMs, renewMs };
  }
  return {
    kind: "found",
    endpoint,
    hash: hashEndpoint(endpoint, token),
    providedBy,
    expiresMs,
    renewMs,
    redact: (text) => redactSecrets(text, [token, endpoint.key]),
  };
}

/** Returns a hash of the endpoint and its token. */
export function hashEndpoint({ token: _, ...endpoint }: Endpoint, token: string | undefined): string {
  return createHash("sha256")
    .update(JSON.stringify([endpoint, token ?? null]))
    .digest("base64url");
}

function redactSecrets(text: string, secrets: readonly (string | undefined)[]): string {
  let rest = text;
  for (const secret of secrets) if (secret !== undefined && secret !== "") rest = rest.replaceAll(secret, "…");
  return rest;
}

/** Longer tokens are not parsed as JWT. */
const maxTokenLength = 64 * 1024;

/** The longest time before their end at which credentials should be renewed: enough for a person who is away for a week. */
const maxRenewalMs = 14 * 24 * 60 * 60 * 1000;
/**
 * The part of their lifetime that is left at that point: `tmc cluster join` renews a token after half of its lifetime, and what
 * rotates tokens by itself does so before four fifths (kubelet).
 */
const renewalPart = 0.15;

/**
 * Returns when credentials expire and should be renewed: the earlier of the client certificate's end and the token's `exp` claim.
 * Empty if neither is known, for example for a token that is not a JWT. Signatures are not verified; the cluster does that.
 */
export function credentialLifetime(
  credentials: Readonly<{ certificate?: string | undefined; token?: string | undefined }>,
): CredentialLifetime {
  const [first] = [certificateValidity(credentials.certificate), tokenValidity(credentials.token)]
    .filter((each) => each !== undefined)
    .toSorted((one, other) => one.expiresMs - other.expiresMs);
  if (first === undefined) return {};
  const { issuedMs, expiresMs } = first;
  const lifetimeMs = issuedMs === undefined || issuedMs >= expiresMs ? Number.POSITIVE_INFINITY : expiresMs - issuedMs;
  return { expiresMs, renewMs: expiresMs - Math.min(maxRenewalMs, lifetimeMs * renewalPart) };
}

type Validity = Readonly<{ issuedMs: number | undefined; expiresMs: number }>;

function certificateValidity(pem: string | undefined): Validity | undefined {
  if (pem === undefined) return undefined;
  try {
    const { validFromDate, validToDate } = new X509Certificate(pem);
    const [issuedMs, expiresMs] = [validFromDate.getTime(), validToDate.getTime()];
    return Number.isNaN(expiresMs) ? undefined : { issuedMs: Number.isNaN(issuedMs) ? undefined : issuedMs, expiresMs };
  } catch {
    return undefined; // the TLS handshake reports what is wrong with it
  }
}

function tokenValidity(token: string | undefined): Validity | undefined {
  if (token === undefined || token.length > maxTokenLength) return undefined;
  const [, payload, signature, ...rest] = token.split(".");
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined;
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString("utf8"));
    if (!isRecord(claims)) return undefined;
    const expiresMs = claimMs(claims.exp);
    return expiresMs === undefined ? undefined : { issuedMs: claimMs(claims.iat), expiresMs };
  } catch {
    return undefined;
  }
}

/** A time in a token. Date cannot represent larger values. */
function claimMs(seconds: unknown): number | undefined {
  return typeof seconds === "number" && seconds > 0 && seconds < 8.64e12 ? Math.floor(seconds * 1000) : undefined;
}

/** Stands for the upstream if it is a plain Kubernetes cluster. No logical cluster can have this name. */
const plainKubernetesName = "_";

/** Returns the name of a logical cluster in AWS secret names, role names and tags. */
export function tenantName(logicalCluster: string): string {
  if (logicalCluster === "") return plainKubernetesName;
  // Keys come from queues. An unchecked value could make the name refer to another tenant's secret or role.
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(logicalCluster)) {
    throw new ControllerError("invalid", `logical cluster ${JSON.stringify(logicalCluster)}: invalid name`);
  }
  return logicalCluster;
}
