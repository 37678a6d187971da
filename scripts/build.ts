// Builds dist/: the npm package of the command line as package/, the relay as relay.js, and each Lambda function as
// functions/<name>/index.mjs.
import { glob, rename, rm, stat } from "node:fs/promises";
import { bundleFunctions, bundleRelay } from "./bundles.ts";
import { writeTmcPackage } from "./tmc-package.ts";

// Moved to dist/ when it is complete, so that a failed build keeps the previous result and no partial one is deployed.
const next = "dist.next";
await rm(next, { recursive: true, force: true });
await writeTmcPackage(`${next}/package`);
await bundleRelay(`${next}/relay.js`);
await bundleFunctions(`${next}/functions`);
await rm("dist", { recursive: true, force: true });
await rename(next, "dist");
for (const file of (await Array.fromAsync(glob("dist/**/*.{js,mjs}"))).toSorted()) {
  console.log(`${file}  ${Math.round((await stat(file)).size / 1024)} KB`);
}
