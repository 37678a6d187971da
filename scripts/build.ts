// Bundles the command line into one file, dist/tmc.js, which package.json publishes as `tmc`.
import { chmod, readFile, rm, stat } from "node:fs/promises";
import { build } from "esbuild";

const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };

await rm("dist", { recursive: true, force: true });
await build({
  entryPoints: { tmc: "bin/tmc.ts" },
  outdir: "dist",
  bundle: true,
  platform: "node",
  target: "node22",
  format: "esm",
  sourcemap: true,
  define: { "process.env.TMC_VERSION": JSON.stringify(version) },
  // Some dependencies are CommonJS inside and call require for Node's own modules.
  banner: {
    js: 'import { createRequire as tmcCreateRequire } from "node:module"; const require = tmcCreateRequire(import.meta.url);',
  },
});
await chmod("dist/tmc.js", 0o755);
console.log(`dist/tmc.js  ${Math.round((await stat("dist/tmc.js")).size / 1024)} KB`);
