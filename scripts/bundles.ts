import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type BuildOptions, type BuildResult, build } from "esbuild";

/** The functions of the deployed form, by the names of their folders. */
export const functionNames = ["reconcile", "forward", "heartbeat", "probe", "resync", "health"] as const;
export type FunctionName = (typeof functionNames)[number];

const root = fileURLToPath(new URL("..", import.meta.url));

/** What all bundles have in common. */
async function commonOptions(): Promise<BuildOptions> {
  const { version } = JSON.parse(await readFile(`${root}/package.json`, "utf8")) as { version: string };
  return {
    absWorkingDir: root,
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    define: { "process.env.TMC_VERSION": JSON.stringify(version) },
    // Some dependencies are CommonJS inside and call require for Node's own modules.
    banner: {
      js: 'import { createRequire as tmcCreateRequire } from "node:module"; const require = tmcCreateRequire(import.meta.url);',
    },
  };
}

/** Bundles programs for people's machines: the command line, and the files it loads when needed. */
export async function bundlePrograms(folder: string, entryPoints: Readonly<Record<string, string>>): Promise<void> {
  await build({
    ...(await commonOptions()),
    entryPoints: { ...entryPoints },
    outdir: folder,
    // What only some commands need (client-node's kubeconfig loading above all) stays in files of its own, unread by the rest.
    splitting: true,
    target: "node22",
    sourcemap: true,
  });
}

/** Bundles the relay into one file, all that its image needs. It finds its credentials wherever it runs: the SDK's chain stays. */
export async function bundleRelay(file: string): Promise<void> {
  await build({
    ...(await commonOptions()),
    entryPoints: ["bin/relay.ts"],
    outfile: file,
    target: "node22",
    mainFields: ["module", "main"],
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
  });
}

/**
 * Bundles functions, each into a folder that holds all it needs: `<folder>/<name>/index.mjs`, its handler `index.handler`.
 * The map beside it tells lines apart and holds no source.
 */
export async function bundleFunctions(
  folder: string,
  names: readonly FunctionName[] = functionNames,
): Promise<BuildResult<{ metafile: true }>> {
  return build({
    ...(await commonOptions()),
    metafile: true,
    entryPoints: Object.fromEntries(names.map((name) => [`${name}/index`, `functions/${name}.ts`])),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    target: "node24",
    // The pinned SDK's own ES modules: smaller than what the runtime brings, and the same every day.
    mainFields: ["module", "main"],
    alias: { "@aws-sdk/credential-provider-node": `${root}/scripts/function-credentials.ts` },
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
  });
}
