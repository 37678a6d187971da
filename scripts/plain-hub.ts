import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";

// Starts a control plane without workload controllers and two clusters, in memory, until it is interrupted. docs/plain-hub.md uses it.
const { dir } = parseArgs({ options: { dir: { type: "string", default: ".tmc/plain-hub" } } }).values;
await mkdir(dir, { recursive: true });
const servers = await Promise.all(
  ["hub", "east", "west"].map((name) => startEmbeddedCluster({ name, workloadControllers: name !== "hub" })),
);
const files = servers.map(({ name }) => join(dir, `${name}.kubeconfig`));
for (const [at, server] of servers.entries()) {
  const context = { name: server.name, endpoint: server.endpoint(), token: server.adminToken };
  await writeKubeconfig(files[at] ?? "", { contexts: [context] });
}
const ready = join(dir, "ready");
await writeFile(ready, "");
const stop = async (): Promise<void> => {
  await Promise.all([ready, ...files].map((file) => rm(file, { force: true })));
  await Promise.all(servers.map((server) => server.stop()));
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => void stop());
