import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFileHub } from "../../../lib/upstream/open-hub.ts";

const server = "https://kcp.example.com:6443";
const ends: (() => Promise<void>)[] = [];
let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-file-hub-"));
  path = join(folder, "kcp.kubeconfig");
  ends.push(() => rm(folder, { recursive: true, force: true }));
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const writeToken = (token: string): Promise<void> =>
  writeKubeconfig(path, { contexts: [{ name: "c", endpoint: { server }, token }] });
/** Writes a kubeconfig with a tokenFile. */
const writeTokenFile = async (token: string): Promise<void> => {
  await writeFile(join(folder, "token"), token);
  const config = {
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server } }],
    users: [{ name: "u", user: { tokenFile: "token" } }],
  };
  await writeFile(path, JSON.stringify(config));
};

/** A fake upstream that accepts one token, and a client for it with credentials from the file. */
async function aHub() {
  const clock = createManualClock();
  const hub = { valid: "one", seen: [] as (string | undefined)[], renewed: 0, failures: [] as string[] };
  const openTransport = (_endpoint: Endpoint): Transport => ({
    send: async ({ headers }) => {
      hub.seen.push(headers.authorization);
      const status = headers.authorization === `Bearer ${hub.valid}` ? 200 : 401;
      return { status, headers: {}, text: async () => "{}", chunks: async function* () {}, cancel: () => {} };
    },
    close: async () => {},
  });
  const client = await openFileHub({
    path,
    source: "--kcp-kubeconfig",
    openTransport,
    clock,
    random: () => 1,
    ttlMs: 60_000,
    onRenewed: () => {
      hub.renewed += 1;
    },
    onFailure: (error) => hub.failures.push(error instanceof Error ? error.message : ""),
  });
  ends.push(() => client.close());
  return { clock, hub, ask: async () => (await client.raw("GET", "/version")).status };
}

describe("openFileHub", () => {
  it("openFileHub reads the file again and retries a call when its token is rejected", async () => {
    await writeToken("one");
    const { hub, ask, clock } = await aHub();
    expect(await ask()).toBe(200);
    await writeToken("two");
    hub.valid = "two";
    clock.advance(10_000);
    expect([await ask(), hub.seen, hub.renewed]).toEqual([200, ["Bearer one", "Bearer one", "Bearer two"], 1]);
  });
  it("openFileHub uses a new token within a minute, before the old one is rejected", async () => {
    await writeToken("one");
    const { hub, ask, clock } = await aHub();
    await writeToken("two");
    clock.advance(59_000);
    expect(await ask()).toBe(200);
    hub.valid = "two";
    clock.advance(1_000);
    expect([await ask(), hub.seen.at(-1), hub.seen.length]).toEqual([200, "Bearer two", 2]);
  });
  it("openFileHub reads a changed tokenFile of its kubeconfig", async () => {
    await writeTokenFile("one");
    const { hub, ask, clock } = await aHub();
    expect(await ask()).toBe(200);
    await writeFile(join(folder, "token"), "two\n");
    hub.valid = "two";
    clock.advance(6_000);
    expect([await ask(), hub.seen.at(-1)]).toEqual([200, "Bearer two"]);
  });
  it("openFileHub keeps the last token while the file cannot be read, and reports the failure", async () => {
    await writeToken("one");
    const { hub, ask, clock } = await aHub();
    await rm(path);
    clock.advance(60_000);
    expect([await ask(), hub.failures]).toEqual([200, ["--kcp-kubeconfig: there is no such file"]]);
    await writeToken("two");
    hub.valid = "two";
    clock.advance(10_000);
    expect([await ask(), hub.renewed]).toEqual([200, 1]);
  });
  it("openFileHub rejects a missing file and an invalid kubeconfig", async () => {
    await expect(aHub()).rejects.toMatchObject({
      fault: "invalid",
      message: "--kcp-kubeconfig: there is no such file",
    });
    await writeFile(path, "{}");
    await expect(aHub()).rejects.toThrow("--kcp-kubeconfig: kubeconfig: no context chosen");
  });
});
