import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { permissionClaims } from "../api/api-export.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Hub } from "../model/hub.ts";
import { formatKey } from "../model/key.ts";
import { ClaimNotAccepted } from "../model/tenant-errors.ts";
import { longestKubeconfig, pemOf } from "./credential-text.ts";
import {
  asOutcome,
  type CredentialSource,
  type CredentialsWanted,
  type NotConfigured,
  notConfigured,
} from "./credentials.ts";
import { type EndpointRules, serverRefusal } from "./endpoint-rules.ts";

export type SecretCredentialsOptions = Readonly<{
  hub: Pick<Hub, "readSecret">;
  rules: EndpointRules;
  clock: Clock;
  /** Spreads the reading again of many secrets. @default Math.random */
  random?: (() => number) | undefined;
}>;

type Remembered = Readonly<{ generation: number; untilMs: number; result: Endpoint | NotConfigured }>;

/** A secret that changes unseen is noticed after at most this long, or when the cluster refuses what it held before. */
const rememberMs = 5 * 60_000;
/** Who has just created a missing secret should not wait for long. */
const rememberMissingMs = 60_000;

const defaultKey = "kubeconfig";

/**
 * Credentials from the secret that a registration names, in its own logical cluster: a kubeconfig that holds all it needs,
 * or a `token` (with a `ca.crt`, where the cluster's certificate needs one) for the server in the registration's endpoint.
 */
export function createSecretCredentials(options: SecretCredentialsOptions): CredentialSource {
  const { hub, rules, clock, random = Math.random } = options;
  const remembered = new Map<string, Remembered>();

  const read = async (
    { key, registration }: CredentialsWanted,
    signal: AbortSignal,
  ): Promise<Endpoint | NotConfigured> => {
    const reference = registration.spec.credentials?.secretRef;
    if (reference === undefined) return notConfigured("the registration names no credentials");
    const { namespace, name } = reference;
    const where = `secret ${namespace}/${name}`;
    let secret: Awaited<ReturnType<Hub["readSecret"]>>;
    try {
      secret = await hub.readSecret({ logicalCluster: key.logicalCluster, namespace, name }, signal);
    } catch (error) {
      if (error instanceof ClaimNotAccepted) return notConfigured(claimWords(where), "PermissionClaimNotAccepted");
      const fault = faultOf(error);
      // A namespace can be any text, and some would lead to something else than a secret.
      if (fault === "invalid") return notConfigured(`${where}: is not the name of a secret`);
      if (fault !== "forbidden") throw error;
      return notConfigured(`${where}: the workspace does not let TMC read secrets`);
    }
    if (secret === undefined) return notConfigured(`${where} is not there`);
    return endpointOf(registration, { where, data: secret.data, rules });
  };

  return {
    find: async (wanted, signal) => {
      const id = formatKey(wanted.key);
      const generation = wanted.registration.metadata.generation ?? 0;
      const nowMs = clock.now();
      let known = remembered.get(id);
      if (known === undefined || known.generation !== generation || known.untilMs <= nowMs) {
        const result = await read(wanted, signal);
        const lengthMs = "kind" in result ? rememberMissingMs : rememberMs;
        known = { generation, untilMs: nowMs + lengthMs * (0.8 + 0.2 * random()), result };
        remembered.set(id, known);
      }
      if ("kind" in known.result) return known.result;
      return asOutcome(known.result, { givenBy: "tenant", nowMs });
    },
    forget: (key) => {
      remembered.delete(formatKey(key));
    },
  };
}

const secretVerbs = permissionClaims.find(({ resource }) => resource === "secrets")?.verbs ?? [];

/** What the owner of a workspace can do about a claim that was not accepted. */
const claimWords = (where: string): string =>
  `${where}: the workspace's APIBinding does not accept the permission claim on secrets; accept it there in ` +
  `spec.permissionClaims (resource secrets, verbs ${secretVerbs.join(", ")}), or run tmc bind`;

type Held = Readonly<{ where: string; data: Readonly<Record<string, string>>; rules: EndpointRules }>;

function endpointOf(registration: ClusterRegistration, { where, data, rules }: Held): Endpoint | NotConfigured {
  const { endpoint, credentials } = registration.spec;
  const key = credentials?.secretRef?.key ?? defaultKey;
  const kubeconfig = textOf(data, key);
  if (kubeconfig === undefined) {
    if (endpoint === undefined) return notConfigured(`${where} has no entry ${key}`);
    const token = textOf(data, "token")?.trim();
    if (token === undefined || token === "") return notConfigured(`${where} has no entry ${key} and no entry token`);
    return allowed(
      {
        server: endpoint.server.replace(/\/+$/, ""),
        ca: endpoint.caBundle ? pemOf(endpoint.caBundle) : textOf(data, "ca.crt"),
        token: async () => token,
      },
      rules,
    );
  }
  if (kubeconfig.length > longestKubeconfig) {
    return notConfigured(`${where}: its kubeconfig is too long`, "CredentialsInvalid");
  }
  try {
    return allowed(parseKubeconfig(kubeconfig, { allow: "data-only" }).endpoint, rules);
  } catch (error) {
    // The parser's messages say what and why and hold no value; those of anything else might.
    const why = error instanceof ControllerError ? error.message : "kubeconfig: cannot be read";
    return notConfigured(`${where}: ${why}`, "CredentialsInvalid");
  }
}

function allowed(endpoint: Endpoint, rules: EndpointRules): Endpoint | NotConfigured {
  const refusal = serverRefusal(endpoint.server, rules);
  return refusal === undefined ? endpoint : notConfigured(refusal, "EndpointNotAllowed");
}

/** An entry of a secret, whose values travel as base64. */
function textOf(data: Readonly<Record<string, string>>, key: string): string | undefined {
  const value = Object.hasOwn(data, key) ? data[key] : undefined;
  return value === undefined || value === "" ? undefined : Buffer.from(value, "base64").toString("utf8");
}
