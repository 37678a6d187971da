import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openFileHub } from "../../../lib/upstream/open-hub.ts";
import { createManualClock } from "../../support/manual-clock.ts";

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
/** A kubeconfig that names a file for its token. */
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

/** A hub that lets in who has the right token, and the way to it from the file. */
async function aHub() {
  const clock = createManualClock();
  const hub = { valid: "one", seen: [] as (string | undefined)[], renewed: 0, troubles: [] as string[] };
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
    place: "--kcp-kubeconfig",
    openTransport,
    clock,
    random: () => 1,
    rememberMs: 60_000,
    onRenewed: () => {
      hub.renewed += 1;
    },
    onTrouble: (error) => hub.troubles.push(error instanceof Error ? error.message : ""),
  });
  ends.push(() => client.close());
  return { clock, hub, ask: async () => (await client.raw("GET", "/version")).status };
}

describe("the hub behind a kubeconfig file", () => {
  it("is asked again with the new token, in the same call, when the old one is refused", async () => {
    await writeToken("one");
    const { hub, ask, clock } = await aHub();
    expect(await ask()).toBe(200);
    await writeToken("two");
    hub.valid = "two";
    clock.advance(10_000);
    expect([await ask(), hub.seen, hub.renewed]).toEqual([200, ["Bearer one", "Bearer one", "Bearer two"], 1]);
  });
  it("is asked with a new token within a minute, before the old one is refused", async () => {
    await writeToken("one");
    const { hub, ask, clock } = await aHub();
    await writeToken("two");
    clock.advance(59_000);
    expect(await ask()).toBe(200);
    hub.valid = "two";
    clock.advance(1_000);
    expect([await ask(), hub.seen.at(-1), hub.seen.length]).toEqual([200, "Bearer two", 2]);
  });
  it("follows the file that its kubeconfig names for the token", async () => {
    await writeTokenFile("one");
    const { hub, ask, clock } = await aHub();
    expect(await ask()).toBe(200);
    await writeFile(join(folder, "token"), "two\n");
    hub.valid = "two";
    clock.advance(6_000);
    expect([await ask(), hub.seen.at(-1)]).toEqual([200, "Bearer two"]);
  });
  it("goes on with the last one while the file cannot be read, and says so", async () => {
    await writeToken("one");
    const { hub, ask, clock } = await aHub();
    await rm(path);
    clock.advance(60_000);
    expect([await ask(), hub.troubles]).toEqual([200, ["--kcp-kubeconfig: there is no such file"]]);
    await writeToken("two");
    hub.valid = "two";
    clock.advance(10_000);
    expect([await ask(), hub.renewed]).toEqual([200, 1]);
  });
  it("is not opened where the file is missing or is none", async () => {
    await expect(aHub()).rejects.toMatchObject({
      fault: "invalid",
      message: "--kcp-kubeconfig: there is no such file",
    });
    await writeFile(path, "{}");
    await expect(aHub()).rejects.toThrow("--kcp-kubeconfig: kubeconfig: no context chosen");
  });
});
