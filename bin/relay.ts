import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { systemClock } from "@tmc/kube/clock.ts";
import { untilInterrupted } from "../lib/cli/interrupt.ts";
import { tmcVersion } from "../lib/model/version.ts";
import { runRelay } from "../lib/relay/service/run-relay.ts";

/** A call that AWS has not answered by then is not going to be answered; the relay retries it. */
const requestHandler = { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true };

process.exitCode = await runRelay({
  variables: process.env,
  version: tmcVersion(),
  nodeVersion: process.version,
  process,
  clock: systemClock,
  random: Math.random,
  write: (line) => void process.stdout.write(line),
  untilInterrupted,
  openSqs: () => new SQSClient({ requestHandler }),
  openSecretsManager: () => new SecretsManagerClient({ requestHandler }),
  openAwsCredentials: () => defaultProvider(),
});
