import type { ControllerForm } from "../e2e/controller-form.ts";
import { eventually } from "../support/eventually.ts";
import type { AwsClients } from "./aws-clients.ts";
import { callFunction, changeEnvironment } from "./call-function.ts";
import type { DeployedApp } from "./deployment.ts";
import type { AwsEndpoint } from "./endpoint.ts";
import { killFunctions } from "./function-processes.ts";
import { readReconciles } from "./reconcile-log.ts";
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

/** Several times as long as a resync takes until its last key is reconciled. */
const resyncAgainMs = 15_000;

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
  const { stage, functions } = deployment.names;
  const startRelays = async (): Promise<void> => {
    identity ??= await createRelayIdentity(aws, `Tmc-${stage}-Relay`);
    const relays = alive();
    while (relays.length < count) relays.push(await startRelay({ endpoint, identity, folder }));
    started = relays;
  };
  let hurried: Promise<unknown> | undefined;
  /** Has a resync send its keys within two seconds, where a deployment has minutes for it. */
  const hurry = async (): Promise<void> => {
    hurried ??= changeEnvironment(aws, functions.resync, { TMC_RESYNC_SECONDS: "2" });
    await hurried;
  };
  return {
    running: async () => {
      await startRelays();
      await Promise.all(started.map((relay) => relay.untilReady(waitMs)));
    },
    start: async () => {
      await startRelays();
      await hurry();
      // Where the hub does not answer there is nothing that it could send.
      await callFunction(aws, functions.resync).catch(() => {});
    },
    kill: async () => {
      await Promise.all([...alive().map((relay) => relay.kill()), killFunctions(endpoint)]);
    },
    // A relay stays ready while kcp is away, for it can do nothing about that; the health function says how all of it is.
    isReady: async () => {
      const ready = await Promise.all(alive().map((relay) => relay.isReady()));
      return ready.length > 0 && ready.every(Boolean) && (await readHealth(aws, deployment)).ok;
    },
    // Read from the log of a stage with log level debug.
    resynced: async (workloads) => {
      await hurry();
      const sinceMs = Date.now();
      let calledMs = sinceMs;
      await callFunction(aws, functions.resync);
      await eventually(async () => {
        // Two reasons of one key coalesce into one reconcile, and the log may name the other reason.
        if (Date.now() - calledMs > resyncAgainMs) {
          calledMs = Date.now();
          await callFunction(aws, functions.resync);
        }
        const reconciles = await readReconciles(aws, { stage, sinceMs });
        const again = reconciles.filter(({ kind, reason }) => kind === "Workload" && reason === "resync");
        const seen = new Set(again.map(({ name }) => name));
        return seen.size >= workloads ? undefined : `reconciled ${[...seen].join(", ")} of ${workloads} workloads`;
      }, waitMs);
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
export function readHealth(aws: AwsClients, { names }: Pick<DeployedApp, "names">): Promise<Health> {
  return callFunction(aws, names.functions.health);
}
