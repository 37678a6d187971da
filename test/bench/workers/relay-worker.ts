// A relay in a process of its own, as its image runs it, with a queue that only counts.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Transport } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { createHealthChecks } from "../../../lib/observe/health.ts";
import { createLog } from "../../../lib/observe/log.ts";
import { createMetrics } from "../../../lib/observe/metrics.ts";
import { createRelayService, type RelayService } from "../../../lib/relay/service/relay-service.ts";
import type { Target } from "../clients/bench-client.ts";
import { serveTasks } from "../serve-tasks.ts";

export type RelayTask =
  /** Undefined workspaces are all that have bound the export. */
  | Readonly<{ kind: "start"; hub: Target; workspaces: readonly string[] | undefined }>
  /** Answers once so many different keys have been sent. */
  | Readonly<{ kind: "sent"; keys: number }>
  | Readonly<{ kind: "usage" }>
  | Readonly<{ kind: "stop" }>;

/** What the process has asked for so far, and what it holds after a full garbage collection. */
export type RelayUsage = Readonly<{
  requests: number;
  watches: number;
  rssMb: number;
  heapMb: number;
  peakRssMb: number;
  cpuMs: number;
}>;

const sent = new Set<string>();
const waiting = new Set<() => void>();
let requests = 0;
let watches = 0;
let running: Readonly<{ service: RelayService; client: KubeClient }> | undefined;

function counted(transport: Transport): Transport {
  return {
    ...transport,
    send: (request) => {
      requests += 1;
      if (request.stream === true) watches += 1;
      return transport.send(request);
    },
  };
}

async function start({ hub, workspaces }: Extract<RelayTask, { kind: "start" }>): Promise<void> {
  const { server, ca, token } = hub;
  const endpoint = { server, ca, token: async () => token };
  const client = createKubeClient({ endpoint, transport: counted(createUndiciTransport(endpoint)) });
  const service = createRelayService({
    client,
    workspaces,
    apiExport: workspaces === undefined ? ofExport : undefined,
    queue: {
      send: async (items) => {
        for (const { key } of items) sent.add(`${key.logicalCluster}|${key.kind}/${key.name}`);
        for (const check of waiting) check();
      },
    },
    clock: systemClock,
    random: Math.random,
    log: createLog({ level: 0, write: (line) => void process.stderr.write(line), clock: systemClock }),
    metrics: createMetrics(),
    health: createHealthChecks({ clock: systemClock }),
  });
  running = { service, client };
  await service.start();
}

const ofExport = {
  address: { path: exportWorkspace, name: exportName },
  openEndpoint: () => {
    throw new Error("bench: there is one server");
  },
};

function usage(): RelayUsage {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  if (typeof collect === "function") collect();
  const { rss, heapUsed } = process.memoryUsage();
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  return {
    requests,
    watches,
    rssMb: rss / 1e6,
    heapMb: heapUsed / 1e6,
    peakRssMb: maxRSS / 1e3,
    cpuMs: (userCPUTime + systemCPUTime) / 1000,
  };
}

serveTasks<RelayTask>(async (task) => {
  switch (task.kind) {
    case "start":
      return start(task);
    case "sent":
      return new Promise<void>((resolve) => {
        const check = (): void => {
          if (sent.size < task.keys) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      });
    case "usage":
      return usage();
    case "stop":
      await running?.service.stop(0);
      await running?.client.close();
      return undefined;
  }
});
