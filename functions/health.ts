// Says how everything is; it only reads.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createHealthReader } from "../lib/lambda/health.ts";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";

import { tmcVersion } from "../lib/model/version.ts";

export const handler = createHealthReader(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
