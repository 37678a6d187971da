import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { formatKubeconfig, makeDirectory, writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { UsageError } from "../cli-io.ts";
import type { LocalEnvironment } from "./environment.ts";
import { type FolderLock, lockFolder } from "./folder-lock.ts";

/** The kubeconfig files of the local environment. */
export type KubeconfigFiles = Readonly<{
  kcp: string;
  /** By cluster name. */
  clusters: ReadonlyMap<string, string>;
  /** Removes the files, except those that another process has replaced. Synchronous, for the exit of the process. */
  remove(): void;
}>;

/**
 * Creates the directory of the kubeconfigs, if necessary, and locks it. Throws a one-line error if the directory cannot be
 * written to, or if another process uses it.
 */
export async function openDirectory(dir: string): Promise<FolderLock> {
  try {
    await makeDirectory(dir);
    return lockFolder(dir);
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    throw new UsageError(`--dir "${dir}" cannot be written to: ${String(error.code)}`);
  }
}

/** Writes a kubeconfig file for kcp and for each cluster into a directory. Files of an earlier process are replaced. */
export async function writeKubeconfigs(
  { kubeconfig, clusters }: Pick<LocalEnvironment, "kubeconfig" | "clusters">,
  dir: string,
): Promise<KubeconfigFiles> {
  const fileOf = (name: string): string => join(dir, `${name}.kubeconfig`);
  const kcp = fileOf("kcp");
  const contents = new Map([
    [kcp, kubeconfig],
    ...clusters.map(({ name, kubeconfig: content }) => [fileOf(name), content] as const),
  ]);
  const remove = (): void => {
    for (const [file, content] of contents) removeIfSame(file, formatKubeconfig(content));
  };
  try {
    for (const [file, content] of contents) await writeKubeconfig(file, content);
  } catch (error) {
    remove();
    throw error;
  }
  return { kcp, clusters: new Map(clusters.map(({ name }) => [name, fileOf(name)])), remove };
}

function removeIfSame(file: string, text: string): void {
  try {
    if (readFileSync(file, "utf8") === text) rmSync(file, { force: true });
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
  }
}
