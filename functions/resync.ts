// Has every object reconciled once, so that anything missed heals.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";

import { createResyncer } from "../lib/lambda/resync.ts";
import { tmcVersion } from "../lib/model/version.ts";

export const handler = createResyncer(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
});
