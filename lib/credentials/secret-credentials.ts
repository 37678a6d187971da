import { createHash } from "node:crypto";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { trimTrailingSlashes } from "@tmc/kube/kubeconfig/server-address.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { permissionClaims } from "../api/api-export.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { credentialsSecretLabel, credentialsSecretType } from "../api/condition.ts";
import type { Hub, HubSecret } from "../model/hub.ts";
import { formatKey } from "../model/key.ts";
import { ClaimNotAccepted } from "../model/tenant-errors.ts";
import { decodePem, maxKubeconfigLength } from "./credential-text.ts";
import {
  type CredentialSource,
  type CredentialsNotConfigured,
  type CredentialsRequest,
  notConfigured,
  outcomeOf,
} from "./credentials.ts";
import { type EndpointRules, serverRejection } from "./endpoint-rules.ts";
import { createExpiringCache } from "./expiring-cache.ts";

export type SecretCredentialsOptions = Readonly<{
  hub: Pick<Hub, "readSecret">;
  rules: EndpointRules;
  clock: Clock;
  /** Jitters the TTL, so that cached secrets do not all expire at once. @default Math.random */
  random?: (() => number) | undefined;
}>;

type CachedResult = Readonly<{ generation: number; expiresMs: number; result: Endpoint | CredentialsNotConfigured }>;

/** A changed Secret takes effect after at most this long, or when the cluster rejects the old credentials. */
const foundTtlMs = 5 * 60_000;
/** Shorter, so that a newly created Secret is found soon. */
const notConfiguredTtlMs = 60_000;

/** How long the result for a content is kept after its last parse: longer than any interval in which it is read again. */
const parsedTtlMs = 60 * 60_000;

const defaultKey = "kubeconfig";

/**
 * Creates the credential source for Secrets in the registration's own logical cluster. A Secret holds a self-contained
 * kubeconfig, or a `server`, a `token` and optionally a `ca.crt`. It has to allow its use for the registration.
 */
export function createSecretCredentials(options: SecretCredentialsOptions): CredentialSource {
  const { hub, rules, clock, random = Math.random } = options;
  const cache = new Map<string, CachedResult>();
  // By content: a Secret that is read again, after its TTL or because a cluster rejected its token, is parsed only if it changed.
  const parsed = createExpiringCache<Endpoint | CredentialsNotConfigured>({ clock, random });

  const read = async (
    { key, registration, secretChosenBy = "registration" }: CredentialsRequest,
    signal: AbortSignal,
  ): Promise<Endpoint | CredentialsNotConfigured> => {
    const reference = registration.spec.credentials?.secretRef;
    if (reference === undefined) return notConfigured("the registration has no spec.credentials.secretRef");
    const { namespace, name } = reference;
    const where = `secret ${namespace}/${name}`;
    let secret: HubSecret | undefined;
    try {
      secret = await hub.readSecret({ logicalCluster: key.logicalCluster, namespace, name }, signal);
    } catch (error) {
      if (error instanceof ClaimNotAccepted) return notConfigured(claimMessage(where), "PermissionClaimNotAccepted");
      const fault = faultOf(error);
      // The schema does not restrict the namespace, and some values would change the path of the request.
      if (fault === "invalid") return notConfigured(`${where}: invalid name`);
      if (fault !== "forbidden") throw error;
      return notConfigured(`${where}: TMC is not allowed to read secrets in the workspace`);
    }
    if (secret === undefined) return notConfigured(`${where} does not exist`);
    const rejection = useRejection(secret, { registration: key.name, secretChosenBy });
    if (rejection !== undefined) return notConfigured(`${where}: ${rejection}`, "CredentialsInvalid");
    const { data } = secret;
    const id = `${formatKey(key)} ${hashContent(registration, data)}`;
    const parse = async () => ({ value: endpointOf(registration, { where, data, rules }), ttlMs: parsedTtlMs });
    return parsed.get(id, parse, signal);
  };

  return {
    find: async (request, signal) => {
      const id = formatKey(request.key);
      const generation = request.registration.metadata.generation ?? 0;
      const nowMs = clock.monotonicMs();
      let cached = cache.get(id);
      if (cached === undefined || cached.generation !== generation || cached.expiresMs <= nowMs) {
        const result = await read(request, signal);
        const ttlMs = "kind" in result ? notConfiguredTtlMs : foundTtlMs;
        cached = { generation, expiresMs: nowMs + ttlMs * (0.8 + 0.2 * random()), result };
        cache.set(id, cached);
      }
      if ("kind" in cached.result) return cached.result;
      return outcomeOf(cached.result, { providedBy: "tenant", nowMs: clock.now() });
    },
    invalidate: (key) => {
      cache.delete(formatKey(key));
    },
  };
}

const secretVerbs = permissionClaims.find(({ resource }) => resource === "secrets")?.verbs ?? [];

const claimMessage = (where: string): string =>
  `${where}: the workspace's APIBinding does not accept the permission claim on secrets; accept it there in ` +
  `spec.permissionClaims (resource secrets, verbs ${secretVerbs.join(", ")}), or run tmc bind`;

/** Tokens of the workspace's own service accounts are never for another server. */
const serviceAccountTokenType = "kubernetes.io/service-account-token";

/**
 * Returns why a Secret must not be used for a registration. The author of a registration may not be allowed to read Secrets,
 * so the author of the Secret has to allow it, by a label that names the registration or by the type of the Secret.
 */
function useRejection(
  { type, labels }: Pick<HubSecret, "type" | "labels">,
  use: Readonly<{ registration: string; secretChosenBy: "registration" | "source" }>,
): string | undefined {
  if (type === serviceAccountTokenType) return "a service account token is not accepted";
  if (use.secretChosenBy === "source" || type === credentialsSecretType) return undefined;
  if (labels[credentialsSecretLabel] === use.registration) return undefined;
  return (
    `the Secret does not allow its use; label it ${credentialsSecretLabel}=${use.registration}, ` +
    `or create it with the type ${credentialsSecretType}`
  );
}

type SecretContent = Readonly<{ where: string; data: Readonly<Record<string, string>>; rules: EndpointRules }>;

/** A hash of everything that `endpointOf` reads. */
function hashContent({ spec }: ClusterRegistration, data: SecretContent["data"]): string {
  const content = JSON.stringify([spec.endpoint ?? null, spec.credentials?.secretRef ?? null, data]);
  return createHash("sha256").update(content).digest("base64url");
}

function endpointOf(
  registration: ClusterRegistration,
  { where, data, rules }: SecretContent,
): Endpoint | CredentialsNotConfigured {
  const { endpoint, credentials } = registration.spec;
  const key = credentials?.secretRef?.key ?? defaultKey;
  const kubeconfig = textOf(data, key);
  if (kubeconfig === undefined) {
    const token = textOf(data, "token")?.trim();
    if (token === undefined || token === "")
      return notConfigured(`${where} has neither the key ${key} nor the key token`);
    const server = trimTrailingSlashes(textOf(data, "server")?.trim() ?? "");
    // The registration must not choose where the token is sent.
    if (server === "") return notConfigured(`${where} has a token and no key server`);
    if (endpoint !== undefined && trimTrailingSlashes(endpoint.server) !== server) {
      return notConfigured(`${where}: its server is not the server in spec.endpoint`, "CredentialsInvalid");
    }
    return checkServer(
      {
        server,
        ca: endpoint?.caBundle ? decodePem(endpoint.caBundle) : textOf(data, "ca.crt"),
        token: async () => token,
      },
      rules,
    );
  }
  if (kubeconfig.length > maxKubeconfigLength) {
    return notConfigured(`${where}: the kubeconfig is too long`, "CredentialsInvalid");
  }
  try {
    return checkServer(parseKubeconfig(kubeconfig, { allow: "data-only" }).endpoint, rules);
  } catch (error) {
    // The parser's messages contain no values; messages of other errors might.
    const why = error instanceof ControllerError ? error.message : "kubeconfig: cannot be read";
    return notConfigured(`${where}: ${why}`, "CredentialsInvalid");
  }
}

function checkServer(endpoint: Endpoint, rules: EndpointRules): Endpoint | CredentialsNotConfigured {
  const rejection = serverRejection(endpoint.server, rules);
  return rejection === undefined ? endpoint : notConfigured(rejection, "EndpointNotAllowed");
}

/** Returns a decoded value of a Secret's data. */
function textOf(data: Readonly<Record<string, string>>, key: string): string | undefined {
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  return value === undefined || value === "" ? undefined : Buffer.from(value, "base64").toString("utf8");
}
