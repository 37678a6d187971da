import { rm } from "node:fs/promises";
import { join } from "node:path";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import type { LocalEnvironment } from "./environment.ts";

/** The kubeconfig files of the local environment. */
export type KubeconfigFiles = Readonly<{
  kcp: string;
  /** By cluster name. */
  clusters: ReadonlyMap<string, string>;
  remove(): Promise<void>;
}>;

/** Writes a kubeconfig file for kcp and for each cluster into a directory. */
export async function writeKubeconfigs(
  { kubeconfig, clusters }: LocalEnvironment,
  dir: string,
): Promise<KubeconfigFiles> {
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
