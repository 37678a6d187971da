// Reports the state of the deployment; read-only.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { createHealthFunction } from "../lib/lambda/health.ts";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";
import { tmcVersion } from "../lib/model/version.ts";

export const handler = createHealthFunction(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
