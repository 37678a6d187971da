import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { Construct } from "constructs";
import { checkReserved } from "./concurrency.ts";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ForwardFunctionProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly queue: WorkQueue;
  /**
   * Batches that are forwarded at once, 2 to 1,000.
   * @default 5
   */
  readonly maxConcurrency?: number;
  /**
   * Concurrent runs that are set aside for it; at least `maxConcurrency`.
   * @default none
   */
  readonly reservedConcurrency?: number;
}

/** Brings keys whose time has come from the delay queue to the work queue. */
export class ForwardFunction extends ControllerFunction {
  constructor(scope: Construct, id: string, props: ForwardFunctionProps) {
    const { queue, maxConcurrency = 5, reservedConcurrency } = props;
    checkReserved(props.functionName, maxConcurrency, reservedConcurrency);
    super(scope, id, {
      setup: props.setup,
      bundle: "forward",
      functionName: props.functionName,
      description: "Brings keys whose time has come from the delay queue to the work queue",
      calledBy: "queue",
      environment: {
        TMC_WORK_QUEUE_URL: queue.work.queueUrl,
        TMC_DELAY_QUEUE_URL: queue.delay.queueUrl,
      },
      loops: true,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    });
    // Ten go to the work queue in one call; more would only wait for each other.
    this.function.addEventSource(
      new SqsEventSource(queue.delay, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency }),
    );
    queue.work.grantSendMessages(this.role);
    queue.delay.grantSendMessages(this.role);
  }
}
