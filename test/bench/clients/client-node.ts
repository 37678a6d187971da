import { CoreV1Api, KubeConfig, PatchStrategy, setHeaderOptions, Watch } from "@kubernetes/client-node";
import type { BenchClient, ConfigMap, Target } from "./bench-client.ts";

/** Gives `@kubernetes/client-node` as its README shows it: typed calls for requests, `Watch` for watches. */
export function createClientNode({ server, ca, token }: Target): BenchClient {
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "bench", server, caData: Buffer.from(ca).toString("base64"), skipTLSVerify: false },
    { name: "bench", token },
  );
  const core = config.makeApiClient(CoreV1Api);
  const merge = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
  return {
    createNamespace: (name) => core.createNamespace({ body: { metadata: { name } } }),
    create: (namespace, body) => core.createNamespacedConfigMap({ namespace, body }),
    get: (namespace, name) => core.readNamespacedConfigMap({ namespace, name }),
    list: (namespace) => core.listNamespacedConfigMap({ namespace, limit: 500 }),
    mergePatch: (namespace, name, body) => core.patchNamespacedConfigMap({ namespace, name, body }, merge),
    watch: async (namespace, onData, signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const path = `/api/v1/namespaces/${namespace}/configmaps`;
      // Every event of this path is about a ConfigMap.
      const onEvent = (_: string, object: ConfigMap) => onData(object.data);
      const request = await new Watch(config).watch(path, {}, onEvent, (error: unknown) => {
        if (error === null || error === undefined || signal.aborted) resolve();
        else reject(error instanceof Error ? error : new Error(String(error)));
      });
      signal.addEventListener("abort", () => request.abort(), { once: true });
      await promise;
    },
  };
}
