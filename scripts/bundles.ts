import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type BuildOptions, type BuildResult, build } from "esbuild";

/** The Lambda functions, named after their files in functions/. */
export const functionNames = ["reconcile", "forward", "heartbeat", "probe", "resync", "health"] as const;
export type FunctionName = (typeof functionNames)[number];

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

/** Bundles the command-line program, with separate files for the parts that it loads on demand. */
export async function bundlePrograms(folder: string, entryPoints: Readonly<Record<string, string>>): Promise<void> {
  await build({
    ...(await commonOptions()),
    entryPoints: { ...entryPoints },
    outdir: folder,
    // Modules that only some commands need are separate files, so that the other commands do not load them.
    splitting: true,
    target: "node22",
    sourcemap: true,
  });
}

/** Bundles the relay into one file for its image. It keeps the credential chain of the AWS SDK, because it runs in many environments. */
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
