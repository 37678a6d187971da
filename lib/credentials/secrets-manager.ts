import { GetSecretValueCommand, type SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import { errorOfAws } from "./aws-call.ts";
import { parseCredentialText } from "./credential-text.ts";
import { asOutcome, type CredentialSource, type NotConfigured, notConfigured, tenantName } from "./credentials.ts";
import { type EndpointRules, serverRefusal } from "./endpoint-rules.ts";
import { createRemembered, type Read } from "./expiring-cache.ts";

/** The part of the client that is used; a test gives a small object. */
export type SecretsManager = Pick<SecretsManagerClient, "send">;

/** Longer than AWS's own tries take when all is well; a caller that waits for more has other work. */
const timeoutMs = 8_000;

/**
 * Reads a secret's text. Whoever waits may give up earlier; the read itself goes on, for others wait for it too. Every
 * failure is one of our faults.
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
  rules: EndpointRules;
  clock: Clock;
  random: () => number;
}>;

/** A secret that changes is noticed after at most this long, or when the cluster refuses what it held before. */
const rememberMs = 5 * 60_000;
/** Who has just created a missing secret should not wait for long. */
const rememberMissingMs = 60_000;

/** The name of the secret that a registration's credentials are in: always made from the key, never given by a tenant. */
export function secretNameOf({ logicalCluster, name }: ObjectKey): string {
  return `tmc/${tenantName(logicalCluster)}/${name}`;
}

/**
 * Credentials from AWS Secrets Manager, in the secret whose name follows from the registration. The server in it is held to
 * the rules for tenants: whoever may write the secret need not be the operator.
 */
export function createSecretsManagerCredentials(options: SecretsManagerCredentialsOptions): CredentialSource {
  const { secretsManager, rules, clock, random } = options;
  const remembered = createRemembered<Endpoint | NotConfigured>({ clock, random, staleWhileDown: true });

  const read = async (secret: string): Promise<Read<Endpoint | NotConfigured>> => {
    const value = await findEndpoint(secret);
    return { value, rememberMs: "kind" in value ? rememberMissingMs : rememberMs };
  };
  const findEndpoint = async (secret: string): Promise<Endpoint | NotConfigured> => {
    let text: string;
    try {
      text = await readSecretText(secretsManager, secret, clock);
    } catch (error) {
      const fault = faultOf(error);
      if (fault === "not-found") return notConfigured(`there is no secret ${secret} in AWS Secrets Manager`);
      if (fault === "forbidden") return notConfigured(`AWS does not let TMC read the secret ${secret}`);
      throw error;
    }
    try {
      const endpoint = parseCredentialText(text);
      const refusal = serverRefusal(endpoint.server, rules);
      return refusal === undefined ? endpoint : notConfigured(refusal, "EndpointNotAllowed");
    } catch (error) {
      // The parser's messages say what and why and hold no value; those of anything else might.
      const why = error instanceof ControllerError ? error.message : "kubeconfig: cannot be read";
      return notConfigured(`secret ${secret}: ${why}`, "CredentialsInvalid");
    }
  };

  return {
    find: async ({ key }, signal) => {
      const secret = secretNameOf(key);
      const found = await remembered.get(formatKey(key), () => read(secret), signal);
      return "kind" in found ? found : asOutcome(found, { givenBy: "tenant", nowMs: clock.now() });
    },
    forget: (key) => remembered.forget(formatKey(key)),
  };
}
