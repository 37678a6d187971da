// Says how everything is; it only reads.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { tmcVersion } from "../lib/cli/version.ts";
import { createHealthReader } from "../lib/lambda/health.ts";
import { machineHost } from "../lib/lambda/host.ts";
import { requestHandler } from "../lib/lambda/request-limits.ts";

export const handler = createHealthReader(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
