// Bundles the command line into dist/tmc.js, which package.json publishes as `tmc`, and the files it loads when needed.
import { chmod, readdir, readFile, rm, stat } from "node:fs/promises";
import { build } from "esbuild";

const { version } = JSON.parse(await readFile("package.json", "utf8")) as { version: string };

await rm("dist", { recursive: true, force: true });
await build({
  entryPoints: { tmc: "bin/tmc.ts" },
  outdir: "dist",
  bundle: true,
  // What only some commands need (client-node's kubeconfig loading above all) stays in files of its own, unread by the rest.
  splitting: true,
  minify: true,
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
for (const file of (await readdir("dist")).filter((name) => name.endsWith(".js")).toSorted()) {
  console.log(`dist/${file}  ${Math.round((await stat(`dist/${file}`)).size / 1024)} KB`);
}
