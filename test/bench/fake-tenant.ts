import { setTimeout as delay } from "node:timers/promises";
import type { Transport, TransportRequest, TransportResponse } from "@tmc/kube/transport/transport.ts";
import { formatApiVersion } from "../../lib/api/kind.ts";
import { workloadPlacement } from "../../lib/api/workload-placement.ts";
import { pool } from "./engine-client.ts";

/** A tenant that exists on paper only: its events and answers are made where they are taken, and cost no server anything. */
export interface FakeTenant {
  /** Answers for the tenant in place of a server; everything else goes on to the one that was given. */
  transport(real: Transport): Transport;
  /** Sends so many changes of its placements, one after the other, at a constant rate; resolves after the last one. */
  makeNoise(noise: Readonly<{ events: number; perSecond: number }>): Promise<void>;
}

export type FakeTenantOptions = Readonly<{
  /** The name of its workspace and of its logical cluster. */
  name: string;
  placements: number;
  /** Names of its clusters. */
  clusters: readonly string[];
  /** How long a request takes. */
  answerMs: number;
}>;

type Paper = {
  apiVersion: string;
  kind: string;
  metadata: Record<string, unknown> & { name: string; generation: number; resourceVersion: string };
  spec: Record<string, unknown>;
  status?: Record<string, unknown> | undefined;
};

const apiVersion = formatApiVersion(workloadPlacement);

/** Changes are sent in batches, each in one chunk, as a socket delivers them. */
const stepMs = 10;

/** Creates a tenant on paper. */
export function createFakeTenant({ name, placements, clusters, answerMs }: FakeTenantOptions): FakeTenant {
  let version = 1;
  const objects = new Map<string, Map<string, Paper>>();
  const watches = new Map<string, Set<(line: string) => void>>();
  const put = (plural: string, object: Paper): void => {
    const all = objects.get(plural) ?? new Map<string, Paper>();
    objects.set(plural, all.set(object.metadata.name, object));
  };
  const make = (kind: string, of: string, labels: Record<string, string>, spec: Record<string, unknown>): Paper => ({
    apiVersion,
    kind,
    metadata: { name: of, uid: `${kind}-${of}`, generation: 1, resourceVersion: "1", labels },
    spec,
  });
  for (const cluster of clusters) {
    put(
      "clusterregistrations",
      make("ClusterRegistration", cluster, { [pool.key]: pool.value }, { location: "paper-1" }),
    );
  }
  for (let at = 0; at < placements; at += 1) {
    const selector = { matchLabels: { [pool.key]: pool.value } };
    const spec = { strategy: "RoundRobin", locationSelector: selector, numberOfClusters: 1 };
    put("workloadplacements", make("WorkloadPlacement", `noise-${at}`, {}, spec));
  }

  const change = (object: Paper): string => {
    version += 1;
    object.metadata.resourceVersion = String(version);
    return `${JSON.stringify({ type: "MODIFIED", object })}\n`;
  };
  const send = (plural: string, lines: string): void => {
    for (const take of watches.get(plural) ?? []) take(lines);
  };

  const patch = (plural: string, of: string, body: string | undefined): TransportResponse => {
    const object = objects.get(plural)?.get(of);
    if (object === undefined) return answer(404, failureOf(404, "NotFound", of));
    // Whoever patches is our own client.
    const patch = JSON.parse(body ?? "{}") as Partial<Paper>;
    const seen = patch.metadata?.resourceVersion;
    if (seen !== undefined && seen !== object.metadata.resourceVersion) {
      return answer(409, failureOf(409, "Conflict", of));
    }
    if (patch.status !== undefined) object.status = { ...object.status, ...patch.status };
    if (patch.metadata !== undefined) {
      object.metadata = { ...object.metadata, ...patch.metadata, resourceVersion: object.metadata.resourceVersion };
    }
    send(plural, change(object));
    return answer(200, JSON.stringify(object));
  };

  const watch = (plural: string, signal: AbortSignal | undefined): TransportResponse => {
    const lines: string[] = [];
    let resume = (): void => {};
    const take = (line: string): void => {
      lines.push(line);
      resume();
    };
    const all = watches.get(plural) ?? new Set();
    watches.set(plural, all.add(take));
    let ended = false;
    const end = (): void => {
      ended = true;
      all.delete(take);
      resume();
    };
    signal?.addEventListener("abort", end, { once: true });
    return {
      status: 200,
      headers: { "content-type": "application/json" },
      text: async () => "",
      cancel: end,
      chunks: async function* () {
        while (!ended) {
          const line = lines.shift();
          if (line !== undefined) yield line;
          else await new Promise<void>((resolve) => (resume = resolve));
        }
      },
    };
  };

  const serve = async ({ method, path, body, stream, signal }: TransportRequest): Promise<TransportResponse> => {
    const [route = ""] = path.split("?");
    const [, , , , , , plural = "", of] = route.split("/");
    if (stream === true) return watch(plural, signal);
    await delay(answerMs);
    if (plural === "logicalclusters") {
      const metadata = { name: "cluster", annotations: { "kcp.io/cluster": name, "kcp.io/path": name } };
      return answer(200, JSON.stringify({ apiVersion: "core.kcp.io/v1alpha1", kind: "LogicalCluster", metadata }));
    }
    if (method === "PATCH") return patch(plural, of ?? "", body);
    const all = objects.get(plural);
    if (all === undefined) return answer(404, failureOf(404, "NotFound", plural));
    if (of !== undefined) return answer(200, JSON.stringify(all.get(of)));
    const items = [...all.values()];
    const metadata = { resourceVersion: String(version) };
    return answer(200, JSON.stringify({ apiVersion, kind: `${items[0]?.kind ?? ""}List`, metadata, items }));
  };

  return {
    transport: (real) => ({
      send: (request) => (request.path.startsWith(`/clusters/${name}/`) ? serve(request) : real.send(request)),
      close: () => real.close(),
    }),
    makeNoise: async ({ events, perSecond }) => {
      const began = performance.now();
      const noisy = [...(objects.get("workloadplacements")?.values() ?? [])];
      for (let sent = 0; sent < events; ) {
        const due = Math.min(events, Math.ceil(((performance.now() - began) / 1000) * perSecond));
        let lines = "";
        for (; sent < due; sent += 1) {
          const object = noisy[sent % noisy.length];
          if (object === undefined) return;
          object.metadata.generation += 1;
          object.spec = { ...object.spec, numberOfClusters: (object.metadata.generation % 2) + 1 };
          lines += change(object);
        }
        if (lines !== "") send("workloadplacements", lines);
        await delay(stepMs);
      }
    },
  };
}

function answer(status: number, text: string): TransportResponse {
  return {
    status,
    headers: { "content-type": "application/json" },
    text: async () => text,
    chunks: async function* () {
      yield text;
    },
    cancel: () => {},
  };
}

function failureOf(code: number, reason: string, name: string): string {
  return JSON.stringify({ kind: "Status", apiVersion: "v1", status: "Failure", code, reason, details: { name } });
}
