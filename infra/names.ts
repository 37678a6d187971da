/** The functions; the names of their bundles in `dist/functions`. */
export const functionNames = ["reconcile", "forward", "heartbeat", "probe", "resync", "health"] as const;
export type FunctionName = (typeof functionNames)[number];

export type QueueName =
  | "work"
  | "delay"
  | "deadLetters"
  | "delayDeadLetters"
  | "heartbeat"
  | "heartbeatDeadLetters"
  | "resync";

/**
 * The resource names of a stage.
 *
 * Names are derived from the stage, so that the runbook can use them, and so that alarms and dashboard need no exports of
 * other stacks: CloudFormation does not change a resource whose export is in use.
 */
export type StageNames = Readonly<{
  stage: string;
  queues: Readonly<Record<QueueName, string>>;
  functions: Readonly<Record<FunctionName, string>>;
  schedules: Readonly<{ heartbeat: string; resync: string }>;
  relay: string;
  dashboard: string;
}>;

/** Derives the names. The name of a FIFO queue must end in `.fifo`. */
export function namesOf(stage: string): StageNames {
  const own = (name: string): string => `tmc-${stage}-${name}`;
  return {
    stage,
    queues: {
      work: own("work.fifo"),
      delay: own("delay"),
      deadLetters: own("dead-letters.fifo"),
      delayDeadLetters: own("delay-dead-letters"),
      heartbeat: own("heartbeat"),
      heartbeatDeadLetters: own("heartbeat-dead-letters"),
      resync: own("resync"),
    },
    functions: {
      reconcile: own("reconcile"),
      forward: own("forward"),
      heartbeat: own("heartbeat"),
      probe: own("probe"),
      resync: own("resync"),
      health: own("health"),
    },
    schedules: { heartbeat: own("heartbeat"), resync: own("resync") },
    relay: own("relay"),
    dashboard: `tmc-${stage}`,
  };
}

export const logGroupName = (stage: string, part: FunctionName | "relay"): string => `/tmc/${stage}/${part}`;
