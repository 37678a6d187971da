import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory, writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { UsageError } from "../cli-io.ts";
import type { LocalEnvironment } from "./environment.ts";

/** The kubeconfig files of the local environment. */
export type KubeconfigFiles = Readonly<{
  kcp: string;
  /** By cluster name. */
  clusters: ReadonlyMap<string, string>;
  remove(): Promise<void>;
}>;

/** Throws a one-line error if files cannot be written to a directory, which is created if it does not exist. */
export async function assertWritable(dir: string): Promise<void> {
  const file = join(dir, `.tmc-${process.pid}`);
  try {
    await makeDirectory(dir);
    await writeFile(file, "", { mode: 0o600 });
    await rm(file, { force: true });
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "unknown failure";
    throw new UsageError(`--dir "${dir}" cannot be written to: ${code}`);
  }
}

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
