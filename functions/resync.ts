// Enqueues every key, which repairs missed changes.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";
import { createResyncFunction } from "../lib/lambda/resync.ts";
import { tmcVersion } from "../lib/model/version.ts";

export const handler = createResyncFunction(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
