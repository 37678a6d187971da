import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { exportWorkspace } from "../../api/group.ts";
import { bindExport, installExport } from "../../install/bind.ts";
import { ensureWorkspace } from "../../install/workspaces.ts";
import type { CustomType } from "../../upstream/custom-types.ts";
import { clusterNames, demoWorkspace, type LocalEnvironment, localExport } from "./environment.ts";

/** The part of the test harness that is used here; only a clone of the repository contains it. */
type RealServer = Readonly<{ url: string; ca: string; adminToken: string; stop(): Promise<unknown> }>;
type Harness = Readonly<{
  ensureBuilt(print: (line: string) => void, signal: AbortSignal): Promise<object>;
  startKcp(options: Readonly<{ binaries: object; signal: AbortSignal }>): Promise<RealServer>;
  startCluster(options: Readonly<{ name: string; binaries: object; signal: AbortSignal }>): Promise<RealServer>;
}>;

/** Starts a real kcp and real clusters, and builds them from their sources first if necessary. */
export async function startRealEnvironment(
  print: (line: string) => void,
  signal: AbortSignal,
  custom: readonly CustomType[],
): Promise<LocalEnvironment> {
  const harness = await loadHarness();
  const binaries = await harness.ensureBuilt(print, signal);
  print("starting kcp and 2 clusters, which takes about 20 seconds");
  const started: RealServer[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(started.map((server) => server.stop()));
  };
  const track = async (starting: Promise<RealServer>): Promise<RealServer> => {
    const server = await starting;
    started.push(server);
    return server;
  };
  const starts = await Promise.allSettled([
    track(harness.startKcp({ binaries, signal })),
    ...clusterNames.map((name) => track(harness.startCluster({ name, binaries, signal }))),
  ]);
  try {
    const [kcp, ...clusters] = starts.map((start) => {
      if (start.status === "rejected") throw start.reason;
      return start.value;
    });
    if (kcp === undefined) throw new Error("kcp did not start");
    const client = createKubeClient({
      endpoint: endpointOf(kcp),
      transport: createUndiciTransport(endpointOf(kcp)),
      name: "kcp",
    });
    await ensureWorkspace(client, exportWorkspace, { signal });
    await ensureWorkspace(client, demoWorkspace, { signal });
    await installExport(client.at(`/clusters/${exportWorkspace}`), { ...localExport, custom, signal });
    await bindExport(client.at(`/clusters/${demoWorkspace}`), exportWorkspace, { signal });
    const workspaceEndpoint = (workspace: string): Endpoint => ({
      ...endpointOf(kcp),
      server: `${kcp.url}/clusters/${workspace}`,
    });
    return {
      description: "as separate processes",
      kcpUrl: kcp.url,
      kcpName: "kcp",
      client,
      clusters: clusters.map((cluster, at) => {
        const name = clusterNames[at] ?? "";
        const contexts = [{ name, endpoint: endpointOf(cluster), token: cluster.adminToken }];
        return { name, url: cluster.url, kubeconfig: { contexts } };
      }),
      kubeconfig: {
        contexts: [
          { name: "demo", endpoint: workspaceEndpoint(demoWorkspace), token: kcp.adminToken },
          { name: "root", endpoint: workspaceEndpoint("root"), token: kcp.adminToken },
        ],
        currentContext: "demo",
      },
      stop: async () => {
        await client.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function endpointOf({ url, ca, adminToken }: RealServer): Endpoint {
  return { server: url, ca, token: async () => adminToken };
}

async function loadHarness(): Promise<Harness> {
  const folder = new URL("../../../test/real/", import.meta.url);
  try {
    // Without literal paths, so that the published bundle does not contain these files.
    const [build, kcp, cluster] = await Promise.all(
      ["build.ts", "kcp.ts", "cluster.ts"].map((file): Promise<unknown> => import(new URL(file, folder).href)),
    );
    const harness: object = { ...asObject(build), ...asObject(kcp), ...asObject(cluster) };
    if (isHarness(harness)) return harness;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code !== "ERR_MODULE_NOT_FOUND" && code !== "ENOENT") throw error;
  }
  throw new Error("--real requires a clone of the repository, in which kcp and Kubernetes are built");
}

const asObject = (value: unknown): object => (typeof value === "object" && value !== null ? value : {});

function isHarness(value: object): value is Harness {
  return ["ensureBuilt", "startKcp", "startCluster"].every((name) => typeof Reflect.get(value, name) === "function");
}
