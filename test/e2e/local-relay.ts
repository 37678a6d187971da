import { systemClock } from "@tmc/kube/clock.ts";
import type { SqsClient } from "../../lib/queue/sqs-client.ts";
import { runRelay } from "../../lib/relay/service/run-relay.ts";

/** A relay that runs in this process as it would by itself. */
export interface LocalRelay {
  /** Whether it has begun to send keys. */
  hasBegun(): boolean;
  output(): string;
  /** Asks it to end; answers its exit code. */
  stop(): Promise<number>;
}

export type LocalRelayOptions = Readonly<{
  /** The path of its kubeconfig. */
  kubeconfig: string;
  apiExport: string;
  sqs: SqsClient;
  workQueueUrl: string;
}>;

/** Starts the relay's program with the environment of its image, on an emulated queue. */
export function startLocalRelay({ kubeconfig, apiExport, sqs, workQueueUrl }: LocalRelayOptions): LocalRelay {
  const end = Promise.withResolvers<void>();
  let output = "";
  const ended = runRelay({
    variables: {
      TMC_STAGE: "test",
      TMC_LOG_LEVEL: "4",
      TMC_KCP_KUBECONFIG: kubeconfig,
      TMC_API_EXPORT: apiExport,
      TMC_WORK_QUEUE_URL: workQueueUrl,
      TMC_METRICS_PORT: "0",
      TMC_HEALTH_PORT: "0",
    },
    version: "test",
    nodeVersion: process.version,
    process,
    clock: systemClock,
    random: Math.random,
    write: (line) => {
      output += line;
    },
    untilInterrupted: () => end.promise,
    openSqs: () => sqs,
    openSecretsManager: () => {
      throw new Error("its kubeconfig is a file");
    },
    openAwsCredentials: () => {
      throw new Error("it watches no clusters");
    },
  });
  return {
    hasBegun: () => output.includes('"keys sent"'),
    output: () => output,
    stop: () => {
      end.resolve();
      return ended;
    },
  };
}
