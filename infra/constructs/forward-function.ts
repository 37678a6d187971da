import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { Construct } from "constructs";
import { assertReservedConcurrency } from "./concurrency.ts";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ForwardFunctionProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly queue: WorkQueue;
  /**
   * Concurrent batches, 2 to 1,000.
   * @default 5
   */
  readonly maxConcurrency?: number;
  /**
   * Reserved concurrency; at least `maxConcurrency`.
   * @default none
   */
  readonly reservedConcurrency?: number;
}

/** Forwards keys whose delay has expired from the delay queue to the work queue. */
export class ForwardFunction extends ControllerFunction {
  constructor(scope: Construct, id: string, props: ForwardFunctionProps) {
    const { queue, maxConcurrency = 5, reservedConcurrency } = props;
    assertReservedConcurrency(props.functionName, maxConcurrency, reservedConcurrency);
    super(scope, id, {
      setup: props.setup,
      bundle: "forward",
      functionName: props.functionName,
      description: "Forwards keys whose delay has expired to the work queue",
      invokedBy: "queue",
      environment: {
        TMC_WORK_QUEUE_URL: queue.work.queueUrl,
        TMC_DELAY_QUEUE_URL: queue.delay.queueUrl,
      },
      allowRecursion: true,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    });
    // The function sends ten messages per call, so larger batches would not be faster.
    this.function.addEventSource(
      new SqsEventSource(queue.delay, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency }),
    );
    queue.work.grantSendMessages(this.role);
    queue.delay.grantSendMessages(this.role);
  }
}
