import { Construct } from "constructs";
import { ControllerFunction, type FunctionSetup } from "./controller-function.ts";
import { Every } from "./every.ts";
import type { HubAccess } from "./hub-access.ts";
import type { WorkQueue } from "./work-queue.ts";

export interface ResyncProps {
  readonly setup: FunctionSetup;
  readonly functionName: string;
  readonly scheduleName: string;
  readonly queue: WorkQueue;
  readonly hub: HubAccess;
  /**
   * Whole minutes between two rounds.
   * @default 30
   */
  readonly minutes?: number;
  /**
   * Whether that goes for workloads as well.
   * @default true
   */
  readonly sync?: boolean;
}

/** Puts every object's key on the delay queue from time to time, so that whatever was missed heals. */
export class Resync extends Construct {
  readonly resync: ControllerFunction;

  constructor(scope: Construct, id: string, props: ResyncProps) {
    super(scope, id);
    const minutes = props.minutes ?? 30;
    this.resync = new ControllerFunction(this, "Resync", {
      setup: props.setup,
      bundle: "resync",
      functionName: props.functionName,
      description: "Puts every object's key on the delay queue",
      calledBy: "schedule",
      environment: {
        ...props.hub.environment,
        TMC_DELAY_QUEUE_URL: props.queue.delay.queueUrl,
        TMC_RESYNC_SECONDS: String(60 * minutes),
        TMC_SYNC: String(props.sync ?? true),
      },
      retryAttempts: 2, // the next round is half an hour away
    });
    props.hub.grantOpen(this.resync.role);
    props.queue.delay.grantSendMessages(this.resync.role);
    new Every(this, "Round", {
      scheduleName: props.scheduleName,
      description: "Has every object looked at anew",
      minutes,
      target: this.resync.function,
    });
  }
}
