// Sends the clusters that are due for a probe to the heartbeat queue.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createHeartbeatFunction } from "../lib/lambda/heartbeat.ts";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";
import { tmcVersion } from "../lib/model/version.ts";

export const handler = createHeartbeatFunction(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
