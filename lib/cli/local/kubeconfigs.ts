import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import type { LocalParts } from "./parts.ts";

/** The kubeconfigs of everything that runs, as files. */
export type KubeconfigFiles = Readonly<{
  kcp: string;
  /** By the name of the cluster. */
  clusters: ReadonlyMap<string, string>;
  remove(): Promise<void>;
}>;

/** Writes a kubeconfig for the hub and for each cluster into a folder. */
export async function writeKubeconfigs({ kubeconfig, clusters }: LocalParts, dir: string): Promise<KubeconfigFiles> {
  const fileOf = (name: string): string => join(dir, `${name}.kubeconfig`);
  const kcp = fileOf("kcp");
  const files = new Map(clusters.map(({ name }) => [name, fileOf(name)]));
  const remove = async (): Promise<void> => {
    await Promise.all([kcp, ...files.values()].map((file) => rm(file, { force: true })));
  };
  try {
    await writeKubeconfig(kcp, kubeconfig);
    for (const cluster of clusters) await writeKubeconfig(fileOf(cluster.name), cluster.kubeconfig);
  } catch (error) {
    await remove();
    throw error;
  }
  return { kcp, clusters: files, remove };
}
