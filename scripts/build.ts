// Bundles what is published and deployed: the command line as dist/tmc.js, which package.json names as `tmc`, with the files
// it loads when needed; the relay as dist/relay.js; each function as dist/functions/<name>/index.mjs.
import { chmod, glob, rename, rm, stat } from "node:fs/promises";
import { bundleFunctions, bundlePrograms, bundleRelay } from "./bundles.ts";

// Put in its place when all of it is there: a build that fails leaves the last one, and nobody deploys half of one.
const next = "dist.next";
await rm(next, { recursive: true, force: true });
await bundlePrograms(next, { tmc: "bin/tmc.ts" });
await chmod(`${next}/tmc.js`, 0o755);
await bundleRelay(`${next}/relay.js`);
await bundleFunctions(`${next}/functions`);
await rm("dist", { recursive: true, force: true });
await rename(next, "dist");
for (const file of (await Array.fromAsync(glob("dist/**/*.{js,mjs}"))).toSorted()) {
  console.log(`${file}  ${Math.round((await stat(file)).size / 1024)} KB`);
}
