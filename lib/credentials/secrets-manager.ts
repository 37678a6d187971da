import { GetSecretValueCommand, type SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { Clock } from "@tmc/kube/clock.ts";
import { createDeadline } from "@tmc/kube/deadline.ts";
import { errorOfAws } from "./aws-fault.ts";

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
