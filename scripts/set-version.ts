// Writes the version of package.json to every other file that contains it. `npm version <version>` runs it before it commits.
import { glob, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const versionPattern = String.raw`\d+\.\d+\.\d+(?:-[\w.]+)?`;

/** The fields of a package.json, or of its entry in package-lock.json, that contain the version of the project. */
type Manifest = { version: string; dependencies?: Record<string, string> };

/** A file with the version of the project, with its text before and after the version was written. */
export type VersionedFile = Readonly<{ file: string; before: string; after: string }>;

export async function readProjectVersion(): Promise<string> {
  return (JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Manifest).version;
}

/** Returns every file that contains the version of the project, with the given version in it. */
export async function withVersion(version: string): Promise<readonly VersionedFile[]> {
  const packages = (await Array.fromAsync(glob("packages/*/package.json", { cwd: root }))).toSorted();
  const edits: Readonly<Record<string, (text: string) => string>> = {
    "charts/tmc/Chart.yaml": (text) => text.replace(/^(version|appVersion): .*$/gm, `$1: ${version}`),
    // The names of images and archives that a reader builds.
    "docs/install.md": (text) =>
      text.replace(
        new RegExp(String.raw`\b(tmc-(?:chart-|(?:controller|relay):)?)${versionPattern}\b`, "g"),
        `$1${version}`,
      ),
    "package-lock.json": (text) =>
      editJson<{ packages: Record<string, Manifest> } & Manifest>(text, (lock) => {
        lock.version = version;
        for (const [path, entry] of Object.entries(lock.packages)) {
          if (path === "" || path.startsWith("packages/")) setVersion(entry, version);
        }
      }),
    ...Object.fromEntries(
      packages.map((file) => [
        file,
        (text: string) => editJson<Manifest>(text, (manifest) => setVersion(manifest, version)),
      ]),
    ),
  };
  return Promise.all(
    Object.entries(edits).map(async ([file, edit]) => {
      const before = await readFile(join(root, file), "utf8");
      return { file, before, after: edit(before) };
    }),
  );
}

function setVersion(manifest: Manifest, version: string): void {
  manifest.version = version;
  for (const name of Object.keys(manifest.dependencies ?? {})) {
    if (name.startsWith("@tmc/")) manifest.dependencies = { ...manifest.dependencies, [name]: version };
  }
}

function editJson<Content>(text: string, edit: (content: Content) => void): string {
  const content = JSON.parse(text) as Content;
  edit(content);
  return `${JSON.stringify(content, undefined, 2)}\n`;
}

if (import.meta.main) {
  for (const { file, before, after } of await withVersion(await readProjectVersion())) {
    if (before === after) continue;
    await writeFile(join(root, file), after);
    console.log(file);
  }
}
