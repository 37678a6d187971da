// Builds dist/: the command-line program as tmc.js (the `tmc` of package.json) with the files that it loads on demand, the relay
// as relay.js, and each Lambda function as functions/<name>/index.mjs.
import { chmod, glob, rename, rm, stat } from "node:fs/promises";
import { bundleFunctions, bundlePrograms, bundleRelay } from "./bundles.ts";

// Moved to dist/ when it is complete, so that a failed build keeps the previous result and no partial one is deployed.
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
