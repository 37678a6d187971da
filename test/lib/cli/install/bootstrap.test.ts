import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { dump } from "js-yaml";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createShownClock, type Outcome, tmc } from "../support.ts";

let kcp: EmbeddedKcp;
let folder = "";

const fileOf = (name: string): string => join(folder, name);
const run = (line: string, options: Parameters<typeof tmc>[1] = {}): Promise<Outcome> =>
  tmc(line.replaceAll("FOLDER", folder).split(" "), { env: { KUBECONFIG: fileOf("admin") }, ...options });

beforeAll(async () => {
  kcp = await startEmbeddedKcp({ users: [{ name: "alice", token: "alice" }] });
  folder = await mkdtemp(join(tmpdir(), "tmc-bootstrap-test-"));
  const write = (name: string, server: string, token: string) =>
    writeFile(
      fileOf(name),
      formatKubeconfig({ contexts: [{ name, endpoint: { server, ca: kcp.endpoint().ca }, token }] }),
    );
  await write("admin", `${kcp.url}/clusters/root`, kcp.adminToken);
  await write("base", kcp.url, kcp.adminToken);
  await write("alice", `${kcp.url}/clusters/root`, "alice");
  await write("unknown-user", `${kcp.url}/clusters/root`, "unknown-user");
  const unverified = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "a",
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    clusters: [{ name: "a", cluster: { server: `${kcp.url}/clusters/root`, "insecure-skip-tls-verify": true } }],
    users: [{ name: "a", user: { token: kcp.adminToken } }],
  };
  await writeFile(fileOf("unverified"), dump(unverified));
  await writeFile(fileOf("empty.yaml"), "---\n");
  await writeFile(fileOf("broken.yaml"), "a: [");
  await writeFile(fileOf("other.yaml"), "kind: Deployment\n");
});
afterAll(async () => {
  await kcp.stop();
  await rm(folder, { recursive: true, force: true });
});

describe("tmc bootstrap, bind, unbind and uninstall", () => {
  it.each<[line: string, code: number, message: string]>([
    ["bootstrap --crd FOLDER/none.yaml", 1, '--crd "FOLDER/none.yaml": cannot be read'],
    ["bootstrap --crd FOLDER/empty.yaml", 1, '--crd "FOLDER/empty.yaml": empty'],
    ["bootstrap --crd FOLDER/broken.yaml", 1, '--crd "FOLDER/broken.yaml": invalid YAML'],
    ["bootstrap --crd FOLDER/other.yaml", 1, '--crd "FOLDER/other.yaml": is not a CustomResourceDefinition'],
    ["bootstrap --token-lifetime 5m", 2, "of at least 10 minutes"],
    ["bootstrap --dry-run --check", 2, "cannot be used with option '--check'"],
    ["bootstrap --workspace Root:TMC", 2, "not a workspace path such as root:org:team"],
    ["bootstrap --workspace tmc", 1, 'workspace "tmc": has no parent; use a path like root:tmc'],
    ["bootstrap --workspace root:nowhere:tmc", 1, "nowhere"],
    ["bootstrap --kubeconfig FOLDER/none", 1, "no such file"],
    ["bootstrap --kubeconfig FOLDER/unknown-user", 1, "the server rejects the credentials of the kubeconfig"],
    ["bootstrap --kubeconfig FOLDER/alice", 1, 'workspace "root": you may not create workspaces'],
    ["bind --kubeconfig FOLDER/base", 2, "the kubeconfig context has no workspace"],
    [
      "bind --workspace root:nowhere --timeout 1h",
      1,
      'workspace "root:nowhere": does not exist; add --create to create it',
    ],
    ["bind --workspace root:nowhere:deep --timeout 1h", 1, "nowhere"],
    ["bind Root:Other", 2, "expected a workspace path such as root:org:team"],
    ["unbind --workspace root:nowhere", 1, "nowhere"],
  ])("tmc %s fails with the exit code %i and one line", async (line, code, message) => {
    const outcome = await run(line);
    expect({ code: outcome.code, out: outcome.out }).toEqual({ code, out: "" });
    expect(outcome.err).toContain(message.replaceAll("FOLDER", folder));
    expect(outcome.err).toMatch(/^tmc: [^\n]+\n$/);
  });

  it("tmc bootstrap writes no kubeconfigs when TLS verification is skipped, or with --no-kubeconfigs", async () => {
    const unverified = await run("bootstrap --kubeconfig FOLDER/unverified --kubeconfig-dir FOLDER/unverified-out");
    expect(unverified).toMatchObject({ code: 1, err: expect.stringContaining("use --no-kubeconfigs to write none") });
    expect(await run("uninstall --yes")).toMatchObject({ code: 0, out: "root:tmc: TMC is not installed\n" });
    const none = await run("bootstrap --no-kubeconfigs --kubeconfig-dir FOLDER/none");
    expect(none.out).not.toContain("kubeconfig");
    await expect(readFile(fileOf("none/relay.kubeconfig"))).rejects.toThrow("ENOENT");
  });

  it("tmc bootstrap renews tokens after half of their lifetime, and not before", async () => {
    const line = "bootstrap --kubeconfig-dir FOLDER --token-lifetime 1000h";
    expect((await run(line)).code).toBe(0);
    const first = await readFile(fileOf("relay.kubeconfig"), "utf8");
    const runAfter = (hours: number) => run(line, { clock: createShownClock(systemClock.now() + hours * 3_600_000) });
    await runAfter(499);
    expect(await readFile(fileOf("relay.kubeconfig"), "utf8")).toBe(first);
    expect((await runAfter(501)).out).toContain(
      `relay: ${fileOf("relay.kubeconfig")} (written: its token has passed half of its lifetime)\n`,
    );
    expect(await readFile(fileOf("relay.kubeconfig"), "utf8")).not.toBe(first);
  });

  it("tmc bootstrap requires an administrator", async () => {
    const { code, out, err } = await run("bootstrap --kubeconfig FOLDER/alice --tenants others");
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(/^tmc: [^\n]*root:tmc[^\n]*\n$/);
  });

  it("tmc uninstall asks for confirmation", async () => {
    expect(await run("uninstall")).toMatchObject({ code: 2, err: expect.stringContaining("use --yes") });
    expect(await run("uninstall", { answer: false })).toMatchObject({
      code: 0,
      err: "tmc: canceled, nothing was changed\n",
    });
    expect(await run("uninstall --dry-run")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^delete +Workspace +root:tmc$/m),
    });
    expect(await run("uninstall", { answer: true })).toMatchObject({ code: 0, out: "root:tmc: deleted\n" });
  });

  it("tmc bind does not bind a second APIExport of the same name", async () => {
    await run("bootstrap --no-kubeconfigs");
    await run("bootstrap --no-kubeconfigs --workspace root:tmc2");
    await run("bind --workspace root:both --create");
    expect(await run("bind root:tmc2 --workspace root:both --timeout 5s")).toEqual({
      code: 1,
      out: "",
      err: 'tmc: kcp: binding "tmc-binding": is bound to tmc.kcp.io in root:tmc, not in root:tmc2\n',
    });
  });
});
