import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Outcome, tmc } from "../support.ts";

let kcp: EmbeddedKcp;
let folder = "";
beforeAll(async () => {
  kcp = await startEmbeddedKcp();
  folder = await mkdtemp(join(tmpdir(), "tmc-hub-test-"));
  const endpoint = { server: `${kcp.url}/clusters/root`, ca: kcp.endpoint().ca };
  await writeFile(
    join(folder, "admin"),
    formatKubeconfig({ contexts: [{ name: "admin", endpoint, token: kcp.adminToken }] }),
  );
});
afterAll(async () => {
  await kcp.stop();
  await rm(folder, { recursive: true, force: true });
});

const run = (line: string, options: Parameters<typeof tmc>[1] = {}): Promise<Outcome> =>
  tmc(line.split(" "), { env: { KUBECONFIG: join(folder, "admin") }, ...options });
const identity = async (): Promise<{ id: string; servers: readonly string[] }> =>
  JSON.parse((await run("hub show --workspace root:tmc -o json")).out) as { id: string; servers: readonly string[] };

describe("tmc hub", () => {
  it("tmc hub show fails with one line before an identity is stored", async () => {
    const outcome = await run("hub show");
    expect(outcome).toMatchObject({ code: 1, out: "" });
    expect(outcome.err).toMatch(/^tmc: no identity is stored here; [^\n]+\n$/);
  });

  it("tmc bootstrap stores the identity without an address, and a second run keeps it", async () => {
    expect(await run("bootstrap --no-kubeconfigs")).toMatchObject({ code: 0, err: "" });
    const { id, servers } = await identity();
    expect(servers).toEqual([]);
    expect((await run("bootstrap --no-kubeconfigs")).out).toContain("no changes, 38 objects");
    expect((await identity()).id).toBe(id);
  });

  it("tmc hub accept-identity adds addresses and keeps the id", async () => {
    const { id } = await identity();
    await run("hub accept-identity --workspace root:tmc");
    const second = await run(
      "hub accept-identity --workspace root:tmc --server https://kcp.example.com:6443/clusters/a",
    );
    expect(second).toMatchObject({ code: 0, err: "" });
    expect(await identity()).toEqual({ id, servers: [kcp.url, "https://kcp.example.com:6443"] });
  });

  it("tmc hub new-identity asks first, and then replaces the id and the addresses", async () => {
    const before = await identity();
    expect(await run("hub new-identity --workspace root:tmc", { answer: false })).toMatchObject({ out: "" });
    expect(await identity()).toEqual(before);
    expect(await run("hub new-identity --workspace root:tmc --yes")).toMatchObject({ code: 0, err: "" });
    const after = await identity();
    expect(after.servers).toEqual([kcp.url]);
    expect(after.id).not.toBe(before.id);
  });

  it("tmc hub accept-identity stores an identity where there is none", async () => {
    expect(await run("hub accept-identity")).toMatchObject({ code: 0, err: "" });
    expect((await run("hub show")).out).toContain(kcp.url);
  });
});
