/** The functions, by the names of their bundles in `dist/functions`. */
export const functionNames = ["reconcile", "forward", "heartbeat", "probe", "resync", "health"] as const;
export type FunctionName = (typeof functionNames)[number];

/** The queues, by what is in them. */
export type QueueName = "work" | "delay" | "deadLetters" | "delayDeadLetters" | "heartbeat";

/**
 * Everything of a stage that has a name of its own.
 *
 * Names follow from the stage, so that the runbook can say them, and so that alarms and dashboard find what they watch
 * without an export from another stack: an export that is in use stops its owner from being changed.
 */
export type StageNames = Readonly<{
  stage: string;
  queues: Readonly<Record<QueueName, string>>;
  functions: Readonly<Record<FunctionName, string>>;
  schedules: Readonly<{ heartbeat: string; resync: string }>;
  relay: string;
  dashboard: string;
}>;

/** Names of a stage's resources; a FIFO queue's has to end in `.fifo`. */
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

/** Where a function or the relay of a stage writes its log. */
export const logGroupName = (stage: string, part: FunctionName | "relay"): string => `/tmc/${stage}/${part}`;
