import { CloudFormationClient } from "@aws-sdk/client-cloudformation";
import { CloudWatchLogsClient } from "@aws-sdk/client-cloudwatch-logs";
import { IAMClient } from "@aws-sdk/client-iam";
import { LambdaClient } from "@aws-sdk/client-lambda";
import { SchedulerClient } from "@aws-sdk/client-scheduler";
import { SecretsManagerClient } from "@aws-sdk/client-secrets-manager";
import { SQSClient } from "@aws-sdk/client-sqs";
import { type AwsEndpoint, clientConfig } from "./endpoint.ts";
import { callSigned, type JsonOperation } from "./signed-call.ts";

/** Everything a test talks to on an endpoint, as its administrator. */
export interface AwsClients extends Disposable {
  readonly cloudFormation: CloudFormationClient;
  readonly logs: CloudWatchLogsClient;
  readonly iam: IAMClient;
  readonly lambda: LambdaClient;
  readonly scheduler: SchedulerClient;
  readonly secrets: SecretsManagerClient;
  readonly sqs: SQSClient;
  /** Services without a client here: ECS, CloudWatch. */
  call(operation: JsonOperation): Promise<unknown>;
}

/** Opens the clients of an endpoint. */
export function createAwsClients(endpoint: AwsEndpoint): AwsClients {
  const config = clientConfig(endpoint);
  const clients = {
    cloudFormation: new CloudFormationClient(config),
    logs: new CloudWatchLogsClient(config),
    iam: new IAMClient(config),
    lambda: new LambdaClient(config),
    scheduler: new SchedulerClient(config),
    secrets: new SecretsManagerClient(config),
    sqs: new SQSClient(config),
  };
  return {
    ...clients,
    call: (operation) => callSigned(endpoint, operation),
    [Symbol.dispose]: () => {
      for (const client of Object.values(clients)) client.destroy();
    },
  };
}
