import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { WorkloadPlacement } from "../../../lib/api/workload-placement.ts";
import type { CliIo, Terminal } from "../../../lib/cli/cli-io.ts";
import { explainOne } from "../../../lib/cli/explain.ts";
import { writeKubeconfigs } from "../../../lib/cli/local/kubeconfigs.ts";
import { demoWorkspace, type LocalParts, startEmbeddedParts } from "../../../lib/cli/local/parts.ts";

import { runTmc } from "../../../lib/cli/program.ts";
import { resourceTypes } from "../../../lib/cli/workspace.ts";

/** What a command did. */
export type Outcome = Readonly<{ code: number; out: string; err: string }>;

export type RunOptions = Readonly<{
  env?: Readonly<Record<string, string>>;
  clock?: Clock;
  /** What a person answers; nobody is there when it is missing. */
  answer?: boolean;
  input?: string;
  interrupted?: Promise<void>;
  terminal?: Terminal;
  /** Hears everything that is printed, as it is. */
  onPrint?: (text: string) => void;
}>;

/** Runs a command line as a shell would, and answers what it printed. */
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
    terminal: options.terminal,
    confirm: async () => options.answer,
    readInput: async () => options.input ?? "",
    untilInterrupted: () => options.interrupted ?? new Promise<void>(() => {}),
  };
  const code = await runTmc(args, io);
  return { code, out, err };
}

/** A clock that shows the time it was set to, while what waits goes on by the machine's. */
export type ShownClock = Clock & { shown: number };

export function createShownClock(shown: number = Date.parse("2026-01-01T00:00:00Z")): ShownClock {
  const clock: ShownClock = { shown, now: () => clock.shown, after: systemClock.after };
  return clock;
}

/** A workspace on an embedded kcp, reached over its kubeconfig, at a time that stands still. */
export type TestWorkspace = Readonly<{
  clock: ShownClock;
  parts: LocalParts;
  client: KubeClient;
  kubeconfig: string;
  clusterKubeconfigs: ReadonlyMap<string, string>;
  /** Runs a command there. */
  run(args: string, options?: RunOptions): Promise<Outcome>;
  stop(): Promise<void>;
}>;

export async function startTestWorkspace(): Promise<TestWorkspace> {
  const clock = createShownClock();
  const parts = await startEmbeddedParts({ clock });
  const dir = await mkdtemp(join(tmpdir(), "tmc-cli-test-"));
  const files = await writeKubeconfigs(parts, dir);
  return {
    clock,
    parts,
    client: parts.client.at(`/clusters/${demoWorkspace}`),
    kubeconfig: files.kcp,
    clusterKubeconfigs: files.clusters,
    run: (args, options = {}) =>
      tmc(
        args.split(" ").filter((word) => word !== ""),
        { clock, env: { KUBECONFIG: files.kcp }, ...options },
      ),
    stop: async () => {
      await parts.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Says of a cluster what a controller would say of a healthy one. */
export async function beReady({ client, clock }: TestWorkspace, name: string): Promise<void> {
  const time = new Date(clock.now()).toISOString().replace(".000Z", "Z");
  await client.patch<ClusterRegistration>(
    { type: resourceTypes.clusters, name },
    {
      type: "merge",
      body: {
        status: {
          conditions: [
            {
              type: "Ready",
              status: "True",
              reason: "ClusterReady",
              message: "the cluster answers and says that it is ready",
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

/** Decides a placement the way a controller would, and writes that down. */
export async function decidePlacement({ client, clock }: TestWorkspace, name: string): Promise<void> {
  const address = { type: resourceTypes.placements, name };
  const [placement, registrations, saved] = await Promise.all([
    client.get<WorkloadPlacement>(address),
    client.list<ClusterRegistration>({ type: resourceTypes.clusters }),
    client.list<WorkloadPlacement>({ type: resourceTypes.placements }),
  ]);
  const { plan } = explainOne(placement, {
    registrations: registrations.items,
    saved: saved.items,
    nowMs: clock.now(),
  });
  await client.patch(address, { type: "merge", body: { status: plan.status } }, { subresource: "status" });
}
