import { rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { Command } from "commander";
import { writeKubeconfig } from "../kube/kubeconfig-file.ts";
import { untilInterrupted } from "./interrupt.ts";
import { demoWorkspace, type LocalWorld, startLocalWorld } from "./local-world.ts";

const examples = `
It needs nothing but this machine and keeps nothing: when it ends, all that was in it is gone.
Kubeconfigs are written to the folder (kcp.kubeconfig with the contexts demo, the current one, and root; one for each
cluster) and removed at the end.
`;

type LocalOptions = Readonly<{ dir: string }>;

/** The command that starts everything in memory, for trying it out. */
export function localCommand(
  print: (line: string) => void = (line) => void process.stdout.write(`${line}\n`),
): Command {
  return new Command("local")
    .summary("try it: a kcp and two clusters in memory")
    .description("Starts a kcp with a workspace and the clusters east and west in this process, for kubectl to try.")
    .option("--dir <folder>", "where kubeconfigs are written", ".tmc")
    .addHelpText("after", examples)
    .action(async ({ dir }: LocalOptions) => {
      const began = Date.now();
      const interrupted = untilInterrupted();
      const world = await startLocalWorld();
      try {
        await writeKubeconfigs(world, dir);
        print(formatWelcome(world, dir, Date.now() - began));
        await interrupted;
      } finally {
        await removeKubeconfigs(world, dir);
        await world.stop();
      }
      print("\nstopped; nothing is left running, and nothing was kept");
    });
}

const fileOf = (dir: string, name: string): string => join(dir, `${name}.kubeconfig`);

async function writeKubeconfigs({ kcp, clusters }: LocalWorld, dir: string): Promise<void> {
  const token = kcp.adminToken;
  await writeKubeconfig(fileOf(dir, "kcp"), {
    contexts: [
      { name: "demo", endpoint: kcp.endpoint(demoWorkspace), token },
      { name: "root", endpoint: kcp.endpoint("root"), token },
    ],
    currentContext: "demo",
  });
  for (const cluster of clusters) {
    await writeKubeconfig(fileOf(dir, cluster.name), {
      contexts: [{ name: cluster.name, endpoint: cluster.endpoint(), token: cluster.adminToken }],
    });
  }
}

async function removeKubeconfigs({ clusters }: LocalWorld, dir: string): Promise<void> {
  const names = ["kcp", ...clusters.map(({ name }) => name)];
  await Promise.all(names.map((name) => rm(fileOf(dir, name), { force: true })));
}

function formatWelcome({ kcp, clusters }: LocalWorld, dir: string, tookMs: number): string {
  const shown = (name: string): string => relative(process.cwd(), fileOf(dir, name));
  const rows = [
    ["kcp", kcp.url, `workspace ${demoWorkspace}, with TMC's kinds and the workload types bound in it`],
    ...clusters.map((cluster) => [cluster.name, cluster.url, "a Kubernetes cluster"]),
  ];
  return [
    `A kcp and ${clusters.length} clusters run in this process, ready after ${(tookMs / 1000).toFixed(2)} s:`,
    "",
    ...rows.map(([name = "", url = "", what = ""]) => `  ${name.padEnd(5)} ${url.padEnd(24)} ${what}`),
    "",
    "Try it from another terminal, in this folder:",
    "",
    `  export KUBECONFIG=${shown("kcp")}`,
    "  kubectl apply -f examples/cluster-registration.yaml -f examples/workload-placement.yaml",
    "  kubectl get cr,wp",
    "  kubectl explain clusterregistration.spec",
    "  kubectl apply --server-side -f examples/deployment.yaml     # on kcp, always --server-side for workloads",
    "  kubectl get deployments",
    "  kubectl --context root get workspaces",
    "",
    `  kubectl --kubeconfig ${shown("east")} create deployment web --image=nginx --replicas=3`,
    `  kubectl --kubeconfig ${shown("east")} get pods -o wide`,
    "",
    "Nothing places workloads yet: the controller joins in the next version.",
    "Ctrl-C ends it; nothing is kept.",
  ].join("\n");
}
