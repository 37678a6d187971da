import { GetSecretValueCommand, type SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { formatKey } from "../model/key.ts";
import { errorOfAws } from "./aws-call.ts";
import { parseCredentialText } from "./credential-text.ts";
import { type CredentialSource, type CredentialsNotConfigured, notConfigured, outcomeOf } from "./credentials.ts";
import { type EndpointRules, serverRejection } from "./endpoint-rules.ts";
import { type CacheRead, createExpiringCache } from "./expiring-cache.ts";
import { type SecretScope, secretNameOf } from "./secret-name.ts";

export type SecretsManager = Pick<SecretsManagerClient, "send">;

/** Long enough for the SDK's own retries. */
const timeoutMs = 8_000;

/**
 * Reads the text of a secret. There is no AbortSignal: several callers may share one read, and each can stop waiting for it.
 * Every failure is a ControllerError.
 */
export async function readSecretText(secretsManager: SecretsManager, secret: string, clock: Clock): Promise<string> {
  const deadline = createDeadline(clock, { signal: undefined, timeoutMs });
  try {
    const { SecretString, SecretBinary } = await secretsManager.send(new GetSecretValueCommand({ SecretId: secret }), {
      abortSignal: deadline.signal,
    });
    return SecretString ?? Buffer.from(SecretBinary ?? []).toString("utf8");
  } catch (error) {
    throw errorOfAws(`secret ${secret}`, error);
  } finally {
    deadline.end();
  }
}

export type SecretsManagerCredentialsOptions = Readonly<{
  secretsManager: SecretsManager;
  scope: SecretScope;
  rules: EndpointRules;
  clock: Clock;
  random: () => number;
}>;

/** A changed secret takes effect after at most this long, or when the cluster rejects the old credentials. */
const foundTtlMs = 5 * 60_000;
/** Shorter, so that a newly created secret is found soon. */
const notConfiguredTtlMs = 60_000;

/**
 * Creates the credential source for AWS Secrets Manager. The endpoint rules apply to the server in the secret, because the
 * secret may be written by someone other than the operator.
 */
export function createSecretsManagerCredentials(options: SecretsManagerCredentialsOptions): CredentialSource {
  const { secretsManager, scope, rules, clock, random } = options;
  const cache = createExpiringCache<Endpoint | CredentialsNotConfigured>({ clock, random, serveStaleOnError: true });

  const read = async (secret: string): Promise<CacheRead<Endpoint | CredentialsNotConfigured>> => {
    const value = await findEndpoint(secret);
    return { value, ttlMs: "kind" in value ? notConfiguredTtlMs : foundTtlMs };
  };
  const findEndpoint = async (secret: string): Promise<Endpoint | CredentialsNotConfigured> => {
    let text: string;
    try {
      text = await readSecretText(secretsManager, secret, clock);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === "not-found") return notConfigured(`secret ${secret} does not exist in AWS Secrets Manager`);
      if (fault === "forbidden") return notConfigured(`AWS denies TMC access to the secret ${secret}`);
      throw error;
    }
    try {
      const endpoint = parseCredentialText(text);
      const rejection = serverRejection(endpoint.server, rules);
      return rejection === undefined ? endpoint : notConfigured(rejection, "EndpointNotAllowed");
    } catch (error) {
      // The parser's messages contain no values; messages of other errors might.
      const why = error instanceof ControllerError ? error.message : "kubeconfig: cannot be read";
      return notConfigured(`secret ${secret}: ${why}`, "CredentialsInvalid");
    }
  };

  return {
    find: async ({ key }, signal) => {
      const secret = secretNameOf(scope, key);
      const found = await cache.get(formatKey(key), () => read(secret), signal);
      return "kind" in found ? found : outcomeOf(found, { providedBy: "tenant", nowMs: clock.now() });
    },
    invalidate: (key) => cache.invalidate(formatKey(key)),
  };
}
