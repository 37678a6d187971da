import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { isRecord } from "@tmc/kube/json.ts";
import { loadAll } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeReleaseFiles } from "../../scripts/release-files.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

let folder: string;
let version: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-release-"));
  const manifest: unknown = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  version = String(isRecord(manifest) ? manifest.version : undefined);
  await writeReleaseFiles(folder, { images: "example.com/owner", repository: "git+https://example.com/tmc.git" });
});
afterAll(() => rm(folder, { recursive: true, force: true }));
const read = (file: string): Promise<string> => readFile(join(folder, file), "utf8");
const kindsOf = async (file: string): Promise<readonly unknown[]> =>
  loadAll(await read(file)).map((each) => (isRecord(each) ? each.kind : undefined));

describe("the files of a release", () => {
  it("are the package, the chart, the manifests and the SBOM, each with a checksum that sha256sum accepts", async () => {
    const files = (await readdir(folder)).toSorted();
    expect(files).toEqual([
      "SHA256SUMS",
      `tmc-${version}.tgz`,
      `tmc-chart-${version}.tgz`,
      "tmc-controller.yaml",
      "tmc-crds.yaml",
      "tmc-kcp.yaml",
      "tmc-sbom.cdx.json",
    ]);
    const { stdout } = await run("sha256sum", ["--check", "--strict", "SHA256SUMS"], { cwd: folder });
    expect(stdout.trim().split("\n")).toEqual(files.slice(1).map((file) => `${file}: OK`));
  });

  it("have a package with the repository, which the provenance of npm requires", async () => {
    const args = ["--extract", "--to-stdout", "--file", join(folder, `tmc-${version}.tgz`), "package/package.json"];
    expect(JSON.parse((await run("tar", args)).stdout)).toMatchObject({
      version,
      repository: { type: "git", url: "git+https://example.com/tmc.git" },
    });
  });

  it("have manifests of the version's image, the APIExport and the CRDs", async () => {
    expect(await read("tmc-controller.yaml")).toContain(`image: example.com/owner/tmc-controller:${version}\n`);
    expect(await kindsOf("tmc-controller.yaml")).toContain("Deployment");
    expect(await kindsOf("tmc-kcp.yaml")).toContain("APIExport");
    expect(await kindsOf("tmc-crds.yaml")).toContain("CustomResourceDefinition");
  });

  it("have the chart of the clone", async () => {
    const { stdout } = await run("tar", ["--list", "--file", join(folder, `tmc-chart-${version}.tgz`)]);
    expect(stdout.split("\n")).toEqual(expect.arrayContaining(["tmc/Chart.yaml", "tmc/templates/deployment.yaml"]));
  });

  it("have an SBOM with the pinned versions of the dependencies, and no development tools", async () => {
    const bom: unknown = JSON.parse(await read("tmc-sbom.cdx.json"));
    const { metadata, components } = isRecord(bom) ? bom : {};
    expect(metadata).toMatchObject({ component: { name: "tmc", version } });
    const names = (Array.isArray(components) ? components : []).map((each) => (isRecord(each) ? each.name : undefined));
    expect(names).toEqual(expect.arrayContaining(["undici", "commander", "js-yaml"]));
    expect(names).not.toContain("vitest");
  });
});
