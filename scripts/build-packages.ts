// Builds packages/*/dist: each workspace package as JavaScript with type declarations, ready for `npm publish packages/<name>/dist`.
import { execFile } from "node:child_process";
import { copyFile, glob, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
const run = promisify(execFile);

/** The fields of a package.json that a build reads or writes. */
type Manifest = Readonly<{ name: string; private?: boolean; scripts?: object; exports: unknown }>;

/**
 * Builds one package folder into its dist folder.
 *
 * Importers keep the specifiers with `.ts`, as the sources have them, because TypeScript rewrites relative specifiers only.
 * The export map of the built package leads them to the JavaScript files and their declarations.
 */
export async function buildPackage(folder: string): Promise<string> {
  const next = join(folder, "dist.next");
  const config = join(folder, "tsconfig.build.json");
  await rm(next, { recursive: true, force: true });
  await mkdir(next, { recursive: true });
  await writeFile(config, JSON.stringify(compilerConfig(next), undefined, 2));
  try {
    await run(process.execPath, [join(root, "node_modules/typescript/bin/tsc"), "--project", config], { cwd: root });
  } catch (error) {
    const output = error instanceof Error && "stdout" in error ? String(error.stdout) : String(error);
    throw new Error(`build of ${basename(folder)} failed:\n${output}`, { cause: error });
  } finally {
    await rm(config, { force: true });
  }
  await writeManifest(folder, next);
  await copyFile(join(folder, "README.md"), join(next, "README.md"));
  await copyFile(join(root, "LICENSE"), join(next, "LICENSE"));
  // Moved when it is complete, so that a failed build keeps the previous result.
  const dist = join(folder, "dist");
  await rm(dist, { recursive: true, force: true });
  await rename(next, dist);
  return dist;
}

function compilerConfig(outDir: string): object {
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      // A workspace package that is imported through node_modules belongs to its own build.
      preserveSymlinks: true,
      rootDir: "src",
      outDir,
    },
    include: ["src"],
  };
}

async function writeManifest(folder: string, target: string): Promise<void> {
  // Our own file, which npm has validated.
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest;
  const { private: _, scripts: __, ...published } = manifest;
  const built = { ...published, exports: { "./*.ts": { types: "./*.d.ts", default: "./*.js" } } };
  await writeFile(join(target, "package.json"), `${JSON.stringify(built, undefined, 2)}\n`);
}

if (import.meta.main) {
  for (const manifest of (await Array.fromAsync(glob(join(root, "packages/*/package.json")))).toSorted()) {
    console.log(await buildPackage(dirname(manifest)));
  }
}
