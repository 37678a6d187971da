import { relative } from "node:path";
import { demoWorkspace, type LocalEnvironment } from "./environment.ts";
import type { KubeconfigFiles } from "./kubeconfigs.ts";

/** Returns commands to try in another terminal, one per line. */
export function formatHints(files: KubeconfigFiles, currentFolder: string): readonly string[] {
  const shown = (path: string | undefined): string => (path === undefined ? "" : relative(currentFolder, path) || path);
  const east = shown([...files.clusters.values()][0]);
  return [
    "In another terminal, in this directory:",
    "",
    `export KUBECONFIG=${shown(files.kcp)}`,
    "kubectl get cr,wp",
    "npm run tmc -- workload status deployment web -n shop    # the state on each cluster",
    "npm run tmc -- explain training                          # why no cluster fits",
    "npm run tmc -- explain shop --without-cluster east       # the decision without east",
    "kubectl apply -f examples/workload-placement.yaml",
    "npm run tmc -- placement create batch --strategy Spread --location-selector region=us-west",
    "kubectl apply --server-side -f examples/deployment.yaml  # kcp requires --server-side for workloads",
    `kubectl --kubeconfig ${east} get nodes`,
  ];
}

/** Returns the message that is printed after the start when there is no board. */
export function formatWelcome(
  { kcpUrl, clusters, description }: LocalEnvironment,
  hints: readonly string[],
  tookMs: number,
): string {
  const rows = [
    ["kcp", kcpUrl, `workspace ${demoWorkspace}, with a binding of TMC's APIExport`],
    ...clusters.map(({ name, url }) => [name, url, "Kubernetes cluster, registered in the workspace"]),
  ];
  return [
    `kcp, ${clusters.length} clusters (${description}) and the controller are running, started in ${(tookMs / 1000).toFixed(2)} s:`,
    "",
    ...rows.map(([name = "", url = "", text = ""]) => `  ${name.padEnd(5)} ${url.padEnd(24)} ${text}`),
    "",
    ...hints.map((hint) => (hint === "" ? "" : `  ${hint}`).replace(/^ {2}In/, "In")),
    "",
    "Ctrl-C stops everything; nothing is kept. Events:",
    "",
    "",
  ].join("\n");
}
