import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { Construct } from "constructs";
import type { ClusterAccess } from "./cluster-access.ts";
import { assertReservedConcurrency } from "./concurrency.ts";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import type { HubAccess } from "./hub-access.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ReconcileFunctionProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly queue: WorkQueue;
  readonly hub: HubAccess;
  readonly clusters: ClusterAccess;
  /**
   * Concurrent batches, 2 to 1,000; limits the load on kcp.
   * @default 20
   */
  readonly maxConcurrency?: number;
  /**
   * Reserved concurrency; at least `maxConcurrency`, because a throttled batch counts as received.
   * @default none
   */
  readonly reservedConcurrency?: number;
}

/** Reconciles the objects whose keys are on the work queue. */
export class ReconcileFunction extends ControllerFunction {
  constructor(scope: Construct, id: string, props: ReconcileFunctionProps) {
    const { queue, hub, clusters, maxConcurrency = 20, reservedConcurrency } = props;
    assertReservedConcurrency(props.functionName, maxConcurrency, reservedConcurrency);
    super(scope, id, {
      setup: props.setup,
      bundle: "reconcile",
      functionName: props.functionName,
      description: "Reconciles the objects whose keys are on the work queue",
      invokedBy: "queue",
      environment: {
        ...hub.environment,
        ...clusters.environment,
        ...queue.environment,
      },
      allowRecursion: true,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    });
    // Ten is the largest batch of a FIFO queue. Failures are reported per message.
    this.function.addEventSource(
      new SqsEventSource(queue.work, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency }),
    );
    queue.grantWork(this.role);
    hub.grantReadKubeconfig(this.role);
    clusters.grantCredentials(this.role);
  }
}
