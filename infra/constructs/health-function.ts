import { Grant } from "aws-cdk-lib/aws-iam";
import type { IQueue } from "aws-cdk-lib/aws-sqs";
import type { Construct } from "constructs";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import type { HubAccess } from "./hub-access.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface HealthFunctionProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly queue: WorkQueue;
  readonly heartbeats: IQueue;
  readonly hub: HubAccess;
}

/** Reports the state of the deployment; read-only. */
export class HealthFunction extends ControllerFunction {
  constructor(scope: Construct, id: string, props: HealthFunctionProps) {
    const { work, delay, deadLetters } = props.queue;
    super(scope, id, {
      setup: props.setup,
      bundle: "health",
      functionName: props.functionName,
      description: "Reports the state of the upstream, the clusters and the queues",
      invokedBy: "operator",
      environment: {
        ...props.hub.environment,
        TMC_WORK_QUEUE_URL: work.queueUrl,
        TMC_DELAY_QUEUE_URL: delay.queueUrl,
        TMC_DEAD_LETTERS_URL: deadLetters.queueUrl,
        TMC_HEARTBEAT_QUEUE_URL: props.heartbeats.queueUrl,
      },
    });
    props.hub.grantReadKubeconfig(this.role);
    for (const { queueArn } of [work, delay, deadLetters, props.heartbeats]) {
      Grant.addToPrincipal({
        grantee: this.role,
        actions: ["sqs:GetQueueAttributes"],
        resourceArns: [queueArn],
      });
    }
  }
}
