import { createManualClock } from "@tmc/kube/manual-clock.ts";
import type { Endpoint, Transport, TransportRequest } from "@tmc/kube/transport/transport.ts";
import { afterEach, describe, expect, it } from "vitest";
import { openSecretHub } from "../../../lib/upstream/open-hub.ts";
import { awsError, fakeSecretsManager } from "../credentials/fake-secrets-manager.ts";

const server = "https://kcp.example.com:6443/clusters/root";
const contentOf = (token: string, host = server): string => JSON.stringify({ server: host, token });

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A fake upstream that accepts one token, and a client for it with credentials from a secret. */
async function aHub({ valid = "one", content = contentOf("one"), shard = undefined as string | undefined } = {}) {
  const store = fakeSecretsManager([["kcp", content]]);
  const clock = createManualClock();
  const hub = { valid, requests: [] as TransportRequest[], opened: [] as string[], closed: 0 };
  const openTransport = (endpoint: Endpoint): Transport => {
    hub.opened.push(endpoint.server);
    return {
      send: async (request) => {
        hub.requests.push(request);
        const status = request.headers.authorization === `Bearer ${hub.valid}` ? 200 : 401;
        return { status, headers: {}, text: async () => "{}", chunks: async function* () {}, cancel: () => {} };
      },
      close: async () => {
        hub.closed += 1;
      },
    };
  };
  const client = await openSecretHub({
    secretsManager: store.secretsManager,
    secret: "kcp",
    server: shard,
    openTransport,
    clock,
    random: () => 1,
  });
  ends.push(() => client.close());
  const ask = async (): Promise<number> => (await client.raw("GET", "/version")).status;
  return { ...store, hub, clock, client, ask };
}

describe("openSecretHub", () => {
  it("openSecretHub sends the token of the secret, below the path of its server", async () => {
    const { client, hub, ask, reads } = await aHub();
    expect(client.server).toBe(server);
    expect([await ask(), await ask(), reads()]).toEqual([200, 200, 1]);
    expect(hub.requests[0]).toMatchObject({
      path: "/clusters/root/version",
      headers: { authorization: "Bearer one" },
    });
    expect((await client.at("/clusters/abc").raw("GET", "/version")).status).toBe(200);
  });
  it("openSecretHub uses another server for the same user if one is given, by https only", async () => {
    const shard = "https://shard.example.com/services/apiexport/abc/tmc.kcp.io";
    const { client, hub, ask } = await aHub({ shard });
    expect([client.server, await ask(), hub.opened]).toEqual([shard, 200, [shard]]);
    expect(hub.requests[0]).toMatchObject({
      path: "/services/apiexport/abc/tmc.kcp.io/version",
      headers: { authorization: "Bearer one" },
    });
    await expect(aHub({ shard: "http://127.0.0.1/services" })).rejects.toThrow(
      "is not https, so TMC sends no credentials",
    );
  });
  it("openSecretHub reads the secret again and retries a call when its token is rejected", async () => {
    const { hub, ask, secrets, reads, clock } = await aHub();
    await ask();
    secrets.set("kcp", contentOf("two"));
    hub.valid = "two";
    clock.advance(10_000);
    expect([await ask(), reads(), hub.closed]).toEqual([200, 2, 1]);
    expect([await ask(), reads(), hub.opened.length]).toEqual([200, 2, 2]);
  });
  it("openSecretHub reads the secret once for many rejected calls", async () => {
    const { hub, ask, secrets, reads, clock } = await aHub();
    secrets.set("kcp", contentOf("two"));
    hub.valid = "two";
    clock.advance(10_000);
    expect(await Promise.all(Array.from({ length: 20 }, ask))).toEqual(Array.from({ length: 20 }, () => 200));
    expect([reads(), hub.opened.length]).toEqual([2, 2]);
  });
  it("openSecretHub returns 401 if the secret is unchanged, and does not read it for every call", async () => {
    const { hub, ask, reads, clock } = await aHub();
    hub.valid = "other";
    clock.advance(10_000);
    expect([await ask(), await ask(), await ask(), reads()]).toEqual([401, 401, 401, 2]);
    clock.advance(5_000);
    expect([await ask(), reads(), hub.opened.length]).toEqual([401, 3, 1]);
  });
  it("openSecretHub uses a changed secret within five minutes", async () => {
    const { hub, ask, secrets, clock } = await aHub();
    secrets.set("kcp", contentOf("one", "https://other.example.com/clusters/root"));
    clock.advance(299_000);
    await ask();
    expect(hub.opened).toHaveLength(1);
    clock.advance(1_000);
    await ask();
    expect(hub.opened).toEqual([server, "https://other.example.com/clusters/root"]);
  });
  it("openSecretHub keeps the last credentials while Secrets Manager fails", async () => {
    const { hub, ask, fail, clock, secrets } = await aHub();
    fail(awsError("ThrottlingException"));
    clock.advance(300_000);
    expect(await ask()).toBe(200);
    hub.valid = "two";
    clock.advance(10_000);
    expect([await ask(), await ask()]).toEqual([401, 401]);
    fail(undefined);
    secrets.set("kcp", contentOf("two"));
    clock.advance(10_000);
    expect(await ask()).toBe(200);
  });

  const unusable: Record<string, readonly [content: string, message: string]> = {
    "an exec plugin": [
      JSON.stringify({
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        clusters: [{ name: "c", cluster: { server } }],
        users: [{ name: "u", user: { exec: { command: "/bin/sh" } } }],
      }),
      'secret kcp: kubeconfig: context "c": exec runs a program',
    ],
    "an empty content": ["", "secret kcp: kubeconfig: is not yaml"],
    "a token that would end the header": [contentOf("s3cr3t\nx: y"), "secret kcp: token is empty or not plain text"],
  };
  it.each(Object.entries(unusable))("openSecretHub rejects a secret with %s", async (_, [content, message]) => {
    await expect(aHub({ content })).rejects.toMatchObject({ fault: "invalid", message });
  });
  it("openSecretHub names a missing secret", async () => {
    const { secretsManager } = fakeSecretsManager();
    const opening = openSecretHub({
      secretsManager,
      secret: "tmc/kcp",
      openTransport: () => {
        throw new Error("there is nowhere to go");
      },
      clock: createManualClock(),
    });
    await expect(opening).rejects.toMatchObject({
      fault: "not-found",
      message: "secret tmc/kcp: ResourceNotFoundException",
    });
  });
});
