// Writes dist/package: the npm package of the command line, ready for `npm publish ./dist/package`. It is also the content of the
// controller's image. `npm run build:package -- --repository <url>` names the repository, as npm's provenance requires.
import { execFile } from "node:child_process";
import { chmod, copyFile, glob, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { bundleProgram, oldestNode } from "./bundles.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The fields of a package.json that the package takes over, or that the list of licenses shows. */
type PackageFields = Readonly<{ name: string; version: string; description?: string; license?: string }>;

/** The commands of the package. kubectl runs `kubectl-tmc` as `kubectl tmc`. */
const commands = ["tmc", "kubectl-tmc"] as const;

const thirdPartyFile = "THIRD-PARTY-LICENSES";

/** Writes the package into an empty or missing folder. */
export async function writeTmcPackage(folder: string, repository?: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const commit = await readCommit();
  const { metafile } = await bundleProgram(folder, { commit });
  await chmod(join(folder, "tmc.js"), 0o755);
  const { name, version, description, license } = await readFields(root);
  const manifest = {
    name,
    version,
    description,
    license,
    ...(repository !== undefined && { repository: { type: "git", url: repository } }),
    ...(commit !== undefined && { gitHead: commit }),
    type: "module",
    engines: { node: `>=${oldestNode}` },
    bin: Object.fromEntries(commands.map((command) => [command, "tmc.js"])),
    files: ["*.js", thirdPartyFile],
  };
  await writeFile(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`);
  await copyFile(join(root, "scripts/npm-readme.md"), join(folder, "README.md"));
  await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
  await writeFile(join(folder, thirdPartyFile), await formatLicenses(packageFolders(Object.keys(metafile.inputs))));
}

/** Returns the commit of the clone, with `-dirty` after changes; undefined without a clone, such as in a source archive. */
async function readCommit(): Promise<string | undefined> {
  const git = async (...args: readonly string[]) => (await promisify(execFile)("git", [...args], { cwd: root })).stdout;
  try {
    const [commit, changes] = await Promise.all([git("rev-parse", "HEAD"), git("status", "--porcelain")]);
    return `${commit.trim()}${changes.trim() === "" ? "" : "-dirty"}`;
  } catch {
    return undefined;
  }
}

async function readFields(folder: string): Promise<PackageFields> {
  // Written by us or validated by npm when it was published.
  return JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as PackageFields;
}

/** Returns the folders of the installed packages that the given files belong to. */
function packageFolders(files: readonly string[]): readonly string[] {
  const found = files.map((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? "");
  return [...new Set(found)].filter((folder) => folder !== "").toSorted();
}

/** Returns the licenses of the bundled packages; each text occurs once, below the packages that it covers. */
async function formatLicenses(folders: readonly string[]): Promise<string> {
  const licenses = await Promise.all(folders.map(readLicense));
  const sections = [...Map.groupBy(licenses, ({ text }) => text)].map(
    ([text, covered]) => `${covered.map(({ title }) => title).join("\n")}\n\n${text}\n`,
  );
  return ["This package contains the following packages.\n", ...sections].join(`\n${"-".repeat(80)}\n\n`);
}

async function readLicense(folder: string): Promise<Readonly<{ title: string; text: string }>> {
  const { name, version, license } = await readFields(join(root, folder));
  const [file] = (
    await Array.fromAsync(glob("{LICENSE,LICENCE,license,License}*", { cwd: join(root, folder) }))
  ).toSorted();
  const text = file === undefined ? `License: ${license}` : (await readFile(join(root, folder, file), "utf8")).trim();
  return { title: `${name} ${version} (${license})`, text };
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { repository: { type: "string" } } });
  // Moved when it is complete, so that a failed build keeps the previous result.
  const [next, target] = [join(root, "dist/package.next"), join(root, "dist/package")];
  await rm(next, { recursive: true, force: true });
  await writeTmcPackage(next, values.repository);
  await rm(target, { recursive: true, force: true });
  await rename(next, target);
  console.log("dist/package");
}
