import type { GetSecretValueCommand, SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import type { SecretsManager } from "../../../lib/credentials/secrets-manager.ts";

/** Creates an error like those of AWS SDK clients. */
export function awsError(name: string, status = 400): Error {
  const error = new Error(`${name}: arn:aws:iam::123456789012:role/tmc is not meant to be read`);
  return Object.assign(error, { name, $metadata: { httpStatusCode: status } });
}

/** Creates an AWS Secrets Manager in memory, with secrets by name. */
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
  // The method has an overload for each command; only this one is used.
  const secretsManager: SecretsManager = { send: send as SecretsManagerClient["send"] };
  return {
    secretsManager,
    secrets,
    reads: () => reads,
    /** Makes all calls fail with this error; undefined ends that. */
    fail: (error: Error | undefined) => {
      failure = error;
    },
    /** Delays all responses until the promise resolves. */
    holdUntil: (until: Promise<void> | undefined) => {
      hold = until;
    },
  };
}
