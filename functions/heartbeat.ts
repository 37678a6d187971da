// Finds the clusters that are due and has them probed.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createHeartbeatPlanner } from "../lib/lambda/heartbeat.ts";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";

import { tmcVersion } from "../lib/model/version.ts";

export const handler = createHeartbeatPlanner(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
