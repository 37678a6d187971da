import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { CliIo, Terminal } from "../../../lib/cli/cli-io.ts";
import { demoWorkspace, type LocalEnvironment, startEmbeddedEnvironment } from "../../../lib/cli/local/environment.ts";
import { writeKubeconfigs } from "../../../lib/cli/local/kubeconfigs.ts";
import { explainOne } from "../../../lib/cli/placement/explain.ts";

import { runTmc } from "../../../lib/cli/program.ts";
import { resourceTypes } from "../../../lib/cli/workspace.ts";

/** The result of a command. */
export type Outcome = Readonly<{ code: number; out: string; err: string }>;

export type RunOptions = Readonly<{
  env?: Readonly<Record<string, string>>;
  clock?: Clock;
  /** The working directory. @default one without files of TMC */
  directory?: string;
  /** The answer to a question; without it there is no terminal to ask on. */
  answer?: boolean;
  input?: string;
  interrupted?: Promise<void>;
  terminal?: Terminal;
  isErrTerminal?: boolean;
  /** Gets the tasks that the command registers for the exit of the process, as long as they are registered. */
  atExit?: (() => void)[];
  /** Called with everything that the command prints. */
  onPrint?: (text: string) => void;
}>;

/** Runs a command line and returns its output. */
export async function tmc(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  let [out, err] = ["", ""];
  const io: CliIo = {
    out: (text) => {
      out += text;
      options.onPrint?.(text);
    },
    err: (text) => {
      err += text;
      options.onPrint?.(text);
    },
    env: options.env ?? {},
    clock: options.clock ?? systemClock,
    directory: options.directory ?? tmpdir(),
    terminal: options.terminal,
    isErrTerminal: options.isErrTerminal ?? false,
    confirm: async () => options.answer,
    readInput: async () => options.input ?? "",
    untilInterrupted: () => options.interrupted ?? new Promise<void>(() => {}),
    atExit: (task) => {
      options.atExit?.push(task);
      return () => void options.atExit?.splice(options.atExit.indexOf(task), 1);
    },
  };
  const code = await runTmc(args, io);
  return { code, out, err };
}

/** A clock whose time is set by the test, while its timers run in real time. */
export type ShownClock = Clock & { shown: number };

export function createShownClock(shown: number = Date.parse("2026-01-01T00:00:00Z")): ShownClock {
  const clock: ShownClock = {
    shown,
    now: () => clock.shown,
    monotonicMs: systemClock.monotonicMs,
    after: systemClock.after,
  };
  return clock;
}

/** A workspace on an embedded kcp, accessed through its kubeconfig, at a fixed time. */
export type TestWorkspace = Readonly<{
  clock: ShownClock;
  environment: LocalEnvironment;
  client: KubeClient;
  kubeconfig: string;
  clusterKubeconfigs: ReadonlyMap<string, string>;
  /** Runs a command in the workspace. */
  run(args: string, options?: RunOptions): Promise<Outcome>;
  stop(): Promise<void>;
}>;

export async function startTestWorkspace(): Promise<TestWorkspace> {
  const clock = createShownClock();
  const environment = await startEmbeddedEnvironment({ clock });
  const dir = await mkdtemp(join(tmpdir(), "tmc-cli-test-"));
  const files = await writeKubeconfigs(environment, dir);
  return {
    clock,
    environment,
    client: environment.client.at(`/clusters/${demoWorkspace}`),
    kubeconfig: files.kcp,
    clusterKubeconfigs: files.clusters,
    run: (args, options = {}) =>
      tmc(
        args.split(" ").filter((word) => word !== ""),
        { clock, env: { KUBECONFIG: files.kcp }, ...options },
      ),
    stop: async () => {
      await environment.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Writes the status that a controller would write for a healthy cluster. */
export async function beReady({ client, clock }: TestWorkspace, name: string): Promise<void> {
  const time = new Date(clock.now()).toISOString().replace(".000Z", "Z");
  await client.patch<ClusterRegistration>(
    { type: resourceTypes.registrations, name },
    {
      type: "merge",
      body: {
        status: {
          conditions: [
            {
              type: "Ready",
              status: "True",
              reason: "ClusterReady",
              message: "the cluster responds and reports that it is ready",
              lastTransitionTime: time,
            },
          ],
          lastHeartbeat: time,
          kubernetesVersion: "v1.36.3",
          nodes: { ready: 3, total: 3 },
          capacity: { cpu: "24", memory: "96Gi", pods: "330" },
          allocatable: { cpu: "24", memory: "96Gi", pods: "330" },
          capabilities: [{ type: "compute", version: "v1.36.3" }],
          capabilitiesDetected: time,
        },
      },
    },
    { subresource: "status" },
  );
}

/** Decides a placement as a controller would, and writes its status. */
export async function decidePlacement({ client, clock }: TestWorkspace, name: string): Promise<void> {
  const address = { type: resourceTypes.placements, name };
  const [placement, registrations, saved] = await Promise.all([
    client.get<WorkloadPlacement>(address),
    client.list<ClusterRegistration>({ type: resourceTypes.registrations }),
    client.list<WorkloadPlacement>({ type: resourceTypes.placements }),
  ]);
  const { plan } = explainOne(placement, {
    registrations: registrations.items,
    saved: saved.items,
    nowMs: clock.now(),
  });
  await client.patch(address, { type: "merge", body: { status: plan.status } }, { subresource: "status" });
}
