import type { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { SecretsManager } from "../../../lib/credentials/secrets-manager.ts";

/** An error as AWS's clients throw it. */
export function awsError(name: string, status = 400): Error {
  const error = new Error(`${name}: arn:aws:iam::123456789012:role/tmc is not meant to be read`);
  return Object.assign(error, { name, $metadata: { httpStatusCode: status } });
}

/** Secrets by their names, in memory. */
export function fakeSecretsManager(entries: readonly (readonly [string, string])[] = []) {
  const secrets = new Map(entries);
  let reads = 0;
  let failure: Error | undefined;
  let hold: Promise<void> | undefined;
  const send = async (command: GetSecretValueCommand): Promise<object> => {
    reads += 1;
    await hold;
    if (failure !== undefined) throw failure;
    const text = secrets.get(command.input.SecretId ?? "");
    if (text === undefined) throw awsError("ResourceNotFoundException");
    return { SecretString: text };
  };
  // The client's one method has an overload for each of its commands; this is the one that is sent.
  const secretsManager: SecretsManager = { send: send as SecretsManagerClient["send"] };
  return {
    secretsManager,
    secrets,
    reads: () => reads,
    /** Refuses everything from now on; undefined for no longer. */
    fail: (error: Error | undefined) => {
      failure = error;
    },
    /** Answers nobody before this has come. */
    holdUntil: (until: Promise<void> | undefined) => {
      hold = until;
    },
  };
}
