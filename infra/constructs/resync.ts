import { Construct } from "constructs";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import { FixedRateSchedule } from "./fixed-rate-schedule.ts";
import type { HubAccess } from "./hub-access.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ResyncProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly scheduleName: string;
  readonly queue: WorkQueue;
  readonly hub: HubAccess;
  /**
   * Whole minutes between two resyncs.
   * @default 30
   */
  readonly minutes?: number;
  /**
   * Whether workloads are resynced too.
   * @default true
   */
  readonly sync?: boolean;
}

/** Enqueues every key periodically, which repairs missed changes. */
export class Resync extends Construct {
  readonly resync: ControllerFunction;

  constructor(scope: Construct, id: string, props: ResyncProps) {
    super(scope, id);
    const minutes = props.minutes ?? 30;
    this.resync = new ControllerFunction(this, "Resync", {
      setup: props.setup,
      bundle: "resync",
      functionName: props.functionName,
      description: "Sends every key to the delay queue",
      invokedBy: "schedule",
      environment: {
        ...props.hub.environment,
        TMC_DELAY_QUEUE_URL: props.queue.delay.queueUrl,
        TMC_RESYNC_SECONDS: String(60 * minutes),
        TMC_SYNC: String(props.sync ?? true),
      },
      retryAttempts: 2, // the next resync is half an hour away
    });
    props.hub.grantReadKubeconfig(this.resync.role);
    props.queue.delay.grantSendMessages(this.resync.role);
    new FixedRateSchedule(this, "Round", {
      scheduleName: props.scheduleName,
      description: "Starts a resync of all objects",
      minutes,
      target: this.resync.function,
    });
  }
}
