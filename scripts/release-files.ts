// Writes dist/release: the files of a release, with their checksums. `npm run build:release -- --images registry.example.com/owner` names the
// registry of the images; `--repository <url>` names the repository, as npm's provenance requires.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { writeTmcPackage } from "./tmc-package.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
const maxOutputBytes = 64 * 1024 * 1024;

export type ReleaseOptions = Readonly<{
  /** Registry and path of the images, whose names are tmc-controller and tmc-relay, such as registry.example.com/owner. */
  images: string;
  repository?: string | undefined;
}>;

/** Writes the files of a release into an empty or missing folder. */
export async function writeReleaseFiles(folder: string, { images, repository }: ReleaseOptions): Promise<void> {
  const { name, version } = await readProject();
  const built = join(folder, "package");
  await writeTmcPackage(built, repository);
  await run("npm", "pack", built, "--silent", "--pack-destination", folder);
  const tmc = (...args: readonly string[]) => run(process.execPath, join(built, "tmc.js"), "manifests", ...args);
  const controllerArgs = ["--image", `${images}/tmc-controller:${version}`, "--api-export", "root:tmc:tmc.kcp.io"];
  const texts = {
    "tmc-kcp.yaml": await tmc("--format", "kcp"),
    "tmc-crds.yaml": await tmc("--format", "crd"),
    "tmc-controller.yaml": await tmc("--format", "controller", ...controllerArgs),
    "tmc-sbom.cdx.json": await formatSbom(name),
  };
  for (const [file, text] of Object.entries(texts)) await writeFile(join(folder, file), text);
  // What `helm package` writes, under a name of its own: the npm package has the name that Helm would use.
  await run("tar", "--create", "--gzip", "--file", join(folder, `tmc-chart-${version}.tgz`), "-C", "charts", "tmc");
  await rm(built, { recursive: true });
  const files = (await readdir(folder)).toSorted();
  const sums = await Promise.all(files.map(async (file) => `${await sha256(join(folder, file))}  ${file}\n`));
  await writeFile(join(folder, "SHA256SUMS"), sums.join(""));
}

async function readProject(): Promise<Readonly<{ name: string; version: string }>> {
  return JSON.parse(await readFile(join(root, "package.json"), "utf8")) as { name: string; version: string };
}

async function run(program: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...args], { cwd: root, maxBuffer: maxOutputBytes });
  return stdout;
}

/** The dependencies of which the bundles are made, as CycloneDX. npm names the project after the folder of the clone. */
async function formatSbom(name: string): Promise<string> {
  const bom = JSON.parse(await run("npm", "sbom", "--omit=dev", "--sbom-format=cyclonedx")) as {
    metadata: { component: object };
  };
  const metadata = { ...bom.metadata, component: { ...bom.metadata.component, name } };
  return `${JSON.stringify({ ...bom, metadata }, undefined, 2)}\n`;
}

const sha256 = async (file: string): Promise<string> =>
  createHash("sha256")
    .update(await readFile(file))
    .digest("hex");

if (import.meta.main) {
  const { values } = parseArgs({ options: { images: { type: "string" }, repository: { type: "string" } } });
  if (values.images === undefined) {
    console.error("release: --images is required, such as --images registry.example.com/owner");
    process.exit(2);
  }
  const [next, target] = [join(root, "dist/release.next"), join(root, "dist/release")];
  await rm(next, { recursive: true, force: true });
  await mkdir(next, { recursive: true });
  await writeReleaseFiles(next, { images: values.images, repository: values.repository });
  await rm(target, { recursive: true, force: true });
  await rename(next, target);
  console.log("dist/release");
}
