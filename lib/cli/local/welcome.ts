import { relative } from "node:path";
import type { KubeconfigFiles } from "./kubeconfigs.ts";
import { demoWorkspace, type LocalParts } from "./parts.ts";

/** What to try from another terminal, a command a line. */
export function hintsFor(files: KubeconfigFiles, folder: string): readonly string[] {
  const shown = (path: string | undefined): string => (path === undefined ? "" : relative(folder, path) || path);
  const east = shown([...files.clusters.values()][0]);
  return [
    "From another terminal, in this folder:",
    "",
    `export KUBECONFIG=${shown(files.kcp)}`,
    "kubectl get cr,wp",
    "npm run tmc -- workload status deployment web -n shop    # where it runs, and how it is there",
    "npm run tmc -- explain training                          # why it is on no cluster, and what would help",
    "npm run tmc -- explain shop --without-cluster east       # what if",
    "kubectl apply -f examples/workload-placement.yaml",
    "npm run tmc -- placement create batch --strategy Spread --location-selector region=us-west",
    "kubectl apply --server-side -f examples/deployment.yaml  # on kcp, always --server-side for workloads",
    `kubectl --kubeconfig ${east} get nodes`,
  ];
}

/** What is printed when everything has come up and there is no board. */
export function formatWelcome(
  { kcpUrl, clusters, what }: LocalParts,
  hints: readonly string[],
  tookMs: number,
): string {
  const rows = [
    ["kcp", kcpUrl, `workspace ${demoWorkspace}, with TMC's kinds and the workload types bound in it`],
    ...clusters.map(({ name, url }) => [name, url, "a Kubernetes cluster, registered in the workspace"]),
  ];
  return [
    `A kcp, ${clusters.length} clusters (${what}) and the controller run, ready after ${(tookMs / 1000).toFixed(2)} s:`,
    "",
    ...rows.map(([name = "", url = "", words = ""]) => `  ${name.padEnd(5)} ${url.padEnd(24)} ${words}`),
    "",
    ...hints.map((hint) => (hint === "" ? "" : `  ${hint}`).replace(/^ {2}From/, "From")),
    "",
    "Ctrl-C ends it; nothing is kept. What happens:",
    "",
    "",
  ].join("\n");
}
