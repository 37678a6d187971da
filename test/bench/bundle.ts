import { build } from "esbuild";

/** Bundles files into a folder, each with its name and `.mjs`, as `npm run build` bundles the command line. */
export async function bundle(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  await build({
    entryPoints: Object.entries(files).map(([name, file]) => ({ in: file, out: name })),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node22",
    format: "esm",
    logLevel: "error",
    banner: {
      js: 'import { createRequire as tmcCreateRequire } from "node:module"; const require = tmcCreateRequire(import.meta.url);',
    },
  });
}
