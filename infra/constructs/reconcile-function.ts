import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import type { Construct } from "constructs";
import type { ClusterAccess } from "./cluster-access.ts";
import { checkReserved } from "./concurrency.ts";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import type { HubAccess } from "./hub-access.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ReconcileFunctionProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  /** Where its work comes from, where it sends what has to wait, and what it gives up. */
  readonly queue: WorkQueue;
  /** The way to kcp. */
  readonly hub: HubAccess;
  /** The way to tenants' clusters. */
  readonly clusters: ClusterAccess;
  /**
   * Batches that are worked on at once, 2 to 1,000; it bounds the load on kcp.
   * @default 20
   */
  readonly maxConcurrency?: number;
  /**
   * Concurrent runs that are set aside for it; at least `maxConcurrency`, since a throttled batch counts as received.
   * @default none
   */
  readonly reservedConcurrency?: number;
}

/** Reconciles the objects whose keys are on the work queue. */
export class ReconcileFunction extends ControllerFunction {
  constructor(scope: Construct, id: string, props: ReconcileFunctionProps) {
    const { queue, hub, clusters, maxConcurrency = 20, reservedConcurrency } = props;
    checkReserved(props.functionName, maxConcurrency, reservedConcurrency);
    super(scope, id, {
      setup: props.setup,
      bundle: "reconcile",
      functionName: props.functionName,
      description: "Reconciles the objects whose keys are on the work queue",
      calledBy: "queue",
      environment: {
        ...hub.environment,
        ...clusters.environment,
        ...queue.environment,
      },
      loops: true,
      ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }),
    });
    // Ten is the most that a FIFO queue gives at once; a failed message fails alone.
    this.function.addEventSource(
      new SqsEventSource(queue.work, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency }),
    );
    queue.grantWork(this.role);
    hub.grantOpen(this.role);
    clusters.grantCredentials(this.role);
  }
}
