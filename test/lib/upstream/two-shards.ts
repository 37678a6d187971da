import type { Collection, KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { exportName, exportWorkspace } from "../../../lib/api/group.ts";
import { type ApiExportEndpointSlice, endpointSlices } from "../../../lib/upstream/kcp-types.ts";
import { startTenants, type Tenants } from "./tenants.ts";

/** Two kcps, each a shard with its own tenants, and a provider whose endpoint slice the test sets. */
export type TwoShards = Readonly<{
  shards: readonly [Tenants, Tenants];
  /** The addresses of the two virtual workspaces. */
  urls: readonly [string, string];
  /** A client of the provider: the first shard, except for the slice. */
  provider: KubeClient;
  openEndpoint(url: string): KubeClient;
  /** The addresses that were opened. */
  opened: readonly string[];
  /** Sets the addresses of the slice and notifies its watches. */
  name(urls: readonly string[]): void;
  /** Whether the slice can be read. */
  lose(isLost: boolean): void;
  stop(): Promise<void>;
}>;

export const address = { path: exportWorkspace, name: exportName };

/** Starts two shards with tenants, and a slice that contains both. */
export async function startTwoShards(tenantsEach = 1): Promise<TwoShards> {
  const paths = (shard: string) => Array.from({ length: tenantsEach }, (_, at) => `root:${shard}-${at}`);
  const shards = [await startTenants(paths("one")), await startTenants(paths("two"))] as const;
  const [first, second] = shards;
  const pathOf = async (shard: Tenants): Promise<string> => {
    const slice = await shard.client
      .at(`/clusters/${exportWorkspace}`)
      .get<ApiExportEndpointSlice>({ type: endpointSlices, name: exportName });
    return new URL(slice.status?.endpoints?.[0]?.url ?? "").pathname;
  };
  const urls = [
    `https://shard-one.example.com${await pathOf(first)}`,
    `https://shard-two.example.com${await pathOf(second)}`,
  ] as const;
  let named: readonly string[] = urls;
  let isLost = false;
  let version = 1;
  const opened: string[] = [];
  const watchers = new Set<() => void>();
  const slice = (): ApiExportEndpointSlice => ({
    apiVersion: "apis.kcp.io/v1alpha1",
    kind: "APIExportEndpointSlice",
    metadata: { name: exportName, resourceVersion: String(version) },
    status: { endpoints: named.map((url) => ({ url })) },
  });
  const list = async () => {
    if (isLost) throw new Error("the slice was asked for while it is lost");
    return { apiVersion: "v1", kind: "List", metadata: { resourceVersion: String(version) }, items: [slice()] };
  };
  const watch = async function* (_: Collection, options: { signal?: AbortSignal | undefined } = {}) {
    let seen = version;
    while (options.signal?.aborted !== true) {
      if (seen < version) {
        seen = version;
        yield { type: "MODIFIED" as const, object: slice() as KubeObject };
      } else {
        await new Promise<void>((resolve) => {
          watchers.add(resolve);
          options.signal?.addEventListener("abort", () => resolve(), { once: true });
        });
      }
    }
  };
  const provider: KubeClient = {
    ...first.client,
    at: (path) =>
      path === `/clusters/${exportWorkspace}`
        ? ({ ...first.client.at(path), list, listAll: list, watch } as KubeClient) // only slices are read there
        : first.client.at(path),
  };
  return {
    shards,
    urls,
    provider,
    opened,
    openEndpoint: (url) => {
      opened.push(url);
      const { client } = url.startsWith("https://shard-one") ? first : second;
      return { ...client, close: async () => {} };
    },
    name: (next) => {
      named = next;
      version += 1;
      for (const wake of watchers) wake();
      watchers.clear();
    },
    lose: (lost) => {
      isLost = lost;
    },
    stop: async () => {
      for (const shard of shards) await shard.stop();
    },
  };
}
