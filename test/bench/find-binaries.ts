import { access } from "node:fs/promises";
import { join } from "node:path";
import { type Binaries, BuildError, readGoVersion } from "../real/build.ts";
import { buildName, type Component, cacheFolder, kcpComponent, kubeallComponent } from "../real/components.ts";

/** Finds the real parts that have been built. Never builds: that takes minutes, and nobody expects it of a bench. */
export async function findBinaries(): Promise<Readonly<{ binaries: Binaries } | { missing: string }>> {
  try {
    const kubeall = await folderOf(kubeallComponent);
    const kcp = await folderOf(kcpComponent);
    const binaries = { kcp: join(kcp, "kcp"), kubeall: join(kubeall, "kubeall"), kubectl: join(kubeall, "kubectl") };
    return { binaries };
  } catch (error) {
    const why = error instanceof BuildError ? error.message : "the real kcp and Kubernetes have not been built yet";
    return { missing: `${why}; \`npm run real:build\` builds them` };
  }
}

async function folderOf(component: Component): Promise<string> {
  const folder = join(cacheFolder(), await buildName(component, await readGoVersion()));
  await access(folder);
  return folder;
}
