import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type BuildOptions, type BuildResult, build, type Plugin } from "esbuild";

/** The Lambda functions, named after their files in functions/. */
export const functionNames = ["reconcile", "forward", "heartbeat", "probe", "resync", "health"] as const;
export type FunctionName = (typeof functionNames)[number];

/** The oldest Node on which the bundles of the command line and the relay run; the bundled undici requires it. */
export const oldestNode = "22.19";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Returns the options that all bundles share. */
async function commonOptions(): Promise<BuildOptions> {
  const { version } = JSON.parse(await readFile(`${root}/package.json`, "utf8")) as { version: string };
  return {
    absWorkingDir: root,
    bundle: true,
    minify: true,
    platform: "node",
    format: "esm",
    define: { "process.env.TMC_VERSION": JSON.stringify(version) },
    // Some dependencies contain CommonJS code that calls require for built-in modules.
    banner: {
      js: 'import { createRequire as tmcCreateRequire } from "node:module"; const require = tmcCreateRequire(import.meta.url);',
    },
  };
}

/** Reduces @kubernetes/client-node to what the command line uses of it. */
const reducedClientNode: Plugin = {
  name: "reduced-client-node",
  setup: ({ onResolve, resolve }) => {
    onResolve({ filter: /^@kubernetes\/client-node$/ }, () => ({ path: `${root}scripts/kubeconfig-library.ts` }));
    // The generated classes only define themselves, so they can be omitted when nothing uses them.
    onResolve({ filter: /^\.\/(?:models\/all|types\/ObjectParamAPI)\.js$/ }, async ({ pluginData, path, ...from }) => {
      if (pluginData === reducedClientNode || !from.importer.includes("/@kubernetes/client-node/")) return undefined;
      return { ...(await resolve(path, { ...from, pluginData: reducedClientNode })), sideEffects: false };
    });
  },
};

/**
 * Bundles the command-line program as `tmc.js`, with separate files for the parts that it loads on demand. There are no source
 * maps: they would be three quarters of the published package.
 */
export async function bundleProgram(
  folder: string,
  { commit }: Readonly<{ commit: string | undefined }>,
): Promise<BuildResult<{ metafile: true }>> {
  const { define, ...options } = await commonOptions();
  return build({
    ...options,
    define: { ...define, ...(commit !== undefined && { "process.env.TMC_COMMIT": JSON.stringify(commit) }) },
    metafile: true,
    entryPoints: { tmc: "bin/tmc.ts" },
    outdir: folder,
    // Modules that only some commands need are separate files, so that the other commands do not load them.
    splitting: true,
    target: `node${oldestNode}`,
    // The AWS SDK as ES modules, of which unused parts can be omitted.
    mainFields: ["module", "main"],
    legalComments: "none",
    plugins: [reducedClientNode],
  });
}

/** Bundles the relay into one file for its image. It keeps the credential chain of the AWS SDK, because it runs in many environments. */
export async function bundleRelay(file: string): Promise<void> {
  await build({
    ...(await commonOptions()),
    entryPoints: ["bin/relay.ts"],
    outfile: file,
    target: `node${oldestNode}`,
    mainFields: ["module", "main"],
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
  });
}

/**
 * Bundles each function into its own folder: `<folder>/<name>/index.mjs` with the handler `index.handler`. The source map next
 * to it maps lines and contains no sources.
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
    // The ES modules of the pinned SDK: smaller than the SDK of the Lambda runtime, and reproducible.
    mainFields: ["module", "main"],
    alias: { "@aws-sdk/credential-provider-node": `${root}/scripts/function-credentials.ts` },
    sourcemap: "linked",
    sourcesContent: false,
    legalComments: "none",
  });
}
