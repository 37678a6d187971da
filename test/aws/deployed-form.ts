import { InvokeCommand } from "@aws-sdk/client-lambda";
import type { ControllerForm } from "../e2e/controller-form.ts";
import type { AwsClients } from "./aws-clients.ts";
import type { DeployedApp } from "./deployment.ts";
import type { AwsEndpoint } from "./endpoint.ts";
import { killFunctions } from "./function-processes.ts";
import { createRelayIdentity, type RelayIdentity, type RelayProcess, startRelay } from "./relay-process.ts";

export type DeployedFormOptions = Readonly<{
  endpoint: AwsEndpoint;
  aws: AwsClients;
  deployment: Pick<DeployedApp, "names">;
  /** A folder for logs. */
  folder: string;
  waitMs: number;
  /** How many relays run at once. @default 2, as the service has it */
  relays?: number;
}>;

/** The controller as it is deployed: functions on the endpoint, and relays beside it. */
export interface DeployedForm extends ControllerForm {
  /** Those that run. */
  relays(): readonly RelayProcess[];
  /** Ends the relays and takes back what was made for them. */
  stop(): Promise<void>;
}

/** Runs a deployment as its service would. */
export function createDeployedForm(options: DeployedFormOptions): DeployedForm {
  const { endpoint, aws, deployment, folder, waitMs, relays: count = 2 } = options;
  let identity: RelayIdentity | undefined;
  let started: RelayProcess[] = [];
  const alive = (): RelayProcess[] => started.filter((relay) => relay.ended() === undefined);
  return {
    running: async () => {
      identity ??= await createRelayIdentity(aws, `Tmc-${deployment.names.stage}-Relay`);
      const relays = alive();
      while (relays.length < count) relays.push(await startRelay({ endpoint, identity, folder }));
      started = relays;
      await Promise.all(started.map((relay) => relay.untilReady(waitMs)));
    },
    kill: async () => {
      await Promise.all([...alive().map((relay) => relay.kill()), killFunctions(endpoint)]);
    },
    // A relay stays ready while kcp is away, for it can do nothing about that; the health function says how all of it is.
    isReady: async () => {
      const ready = await Promise.all(alive().map((relay) => relay.isReady()));
      return ready.length > 0 && ready.every(Boolean) && (await readHealth(aws, deployment)).ok;
    },
    // Functions decide side by side, and each counts what the others have written so far.
    unevenBy: 4,
    relays: alive,
    stop: async () => {
      await Promise.all(alive().map((relay) => relay.kill()));
      const taken = identity;
      identity = undefined;
      await taken?.remove();
    },
  };
}

/** What the health function answers, as far as tests read it. */
export type Health = Readonly<{
  ok: boolean;
  hub: Readonly<{ ok: boolean; reason?: string }>;
  clusters: Readonly<{ ready: number; total: number }>;
  queues: Readonly<
    Record<
      "work" | "delay" | "heartbeat" | "deadLetters",
      Readonly<{ visible: number; inFlight: number; delayed: number }>
    >
  >;
}>;

/** Asks the health function of a deployment. */
export async function readHealth({ lambda }: AwsClients, { names }: Pick<DeployedApp, "names">): Promise<Health> {
  const command = new InvokeCommand({ FunctionName: names.functions.health });
  const { Payload = new Uint8Array(), FunctionError } = await lambda.send(command);
  const text = Buffer.from(Payload).toString("utf8");
  if (FunctionError !== undefined) throw new Error(`health: ${FunctionError}: ${text}`);
  return JSON.parse(text) as Health; // our own function
}
