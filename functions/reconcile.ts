// Reconciles the keys of the work queue.

import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { defaultProvider } from "@aws-sdk/credential-provider-node";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";
import { createReconcileFunction } from "../lib/lambda/reconcile.ts";
import { tmcVersion } from "../lib/model/version.ts";

export const handler = createReconcileFunction(machineHost(tmcVersion()), {
  sqs: new SQSClient({ requestHandler }),
  secretsManager: new SecretsManagerClient({ requestHandler }),
  awsCredentials: defaultProvider(),
});
