import { relative } from "node:path";
import { commandName } from "../names.ts";
import { demoWorkspace, type LocalEnvironment } from "./environment.ts";
import type { KubeconfigFiles } from "./kubeconfigs.ts";

/** Returns commands to try in another terminal, one per line, by the name that the program has there. */
export function formatHints(
  files: KubeconfigFiles,
  { folder, command = commandName() }: Readonly<{ folder: string; command?: string }>,
): readonly string[] {
  const shown = (path: string | undefined): string => (path === undefined ? "" : relative(folder, path) || path);
  const east = shown([...files.clusters.values()][0]);
  return [
    "In another terminal, in this directory:",
    "",
    `export KUBECONFIG=${shown(files.kcp)}`,
    "kubectl get cr,wp",
    "kubectl get deployments -A",
    ...aligned([
      [`${command} workload status deploy/web -n shop`, "the state on each cluster"],
      [`${command} explain training`, "why no cluster fits"],
      [`${command} explain shop --without-cluster east`, "the decision without east"],
    ]),
    "kubectl create deployment hello --image nginx",
    `${command} placement create hello --for deployment/hello --wait`,
    `kubectl --kubeconfig ${east} get deployments -A`,
  ];
}

function aligned(rows: readonly (readonly [command: string, comment: string])[]): readonly string[] {
  const width = Math.max(...rows.map(([command]) => command.length));
  return rows.map(([command, comment]) => `${command.padEnd(width)}  # ${comment}`);
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
