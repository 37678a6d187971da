/** Where the measured server is and who we are there. */
export type Target = Readonly<{ server: string; ca: string; token: string }>;

/** The clients that are compared. */
export type ClientName = "tmc, undici" | "tmc, https" | "tmc, in process" | "client-node";

/** An object as it is created in every bench. */
export type ConfigMap = Readonly<{
  apiVersion: "v1";
  kind: "ConfigMap";
  metadata: Readonly<{ name: string; labels: Record<string, string> }>;
  data: Record<string, string>;
}>;

/** What a client is asked to do in a bench: the same calls for each of them. */
export interface BenchClient {
  createNamespace(name: string): Promise<unknown>;
  create(namespace: string, object: ConfigMap): Promise<unknown>;
  get(namespace: string, name: string): Promise<unknown>;
  list(namespace: string): Promise<unknown>;
  mergePatch(namespace: string, name: string, patch: object): Promise<unknown>;
  /** Shows the data of each ConfigMap that is there and that comes, until the signal ends it. */
  watch(
    namespace: string,
    onData: (data: Readonly<Record<string, string>>) => void,
    signal: AbortSignal,
  ): Promise<unknown>;
}

/** A ConfigMap of about 1 KB. */
export function configMapOf(name: string, data: Readonly<Record<string, string>> = {}): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, labels: { app: "bench", tier: "storage" } },
    data: { text: "0123456789abcdef".repeat(60), ...data },
  };
}
