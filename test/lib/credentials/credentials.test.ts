import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateAuthority } from "@tmc/embedded/certificates.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig-file.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type CredentialSource, createCredentialSource } from "../../../lib/credentials/credentials.ts";
import { createFileCredentials, parseClusterKubeconfigs } from "../../../lib/credentials/file-credentials.ts";
import { createSecretCredentials } from "../../../lib/credentials/secret-credentials.ts";
import { createSecretsManagerCredentials } from "../../../lib/credentials/secrets-manager.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aRegistration } from "../registration/registrations.ts";
import { fakeSecretsManager } from "./fake-secrets-manager.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const signal = new AbortController().signal;
const startMs = Date.parse("2026-01-01T00:00:00Z");
const authority = createCertificateAuthority();
const named = aRegistration({ spec: { credentials: { secretRef: { namespace: "default", name: "east" } } } });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
const jwt = (claims: object): string =>
  ["{}", JSON.stringify(claims), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
const kubeconfig = (token: string, more: object = {}): string =>
  formatKubeconfig({
    contexts: [
      { name: "c", endpoint: { server: "https://east.example.com:6443", ca: authority.certificate, ...more }, token },
    ],
  });

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "tmc-credentials-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

/** One place where a kubeconfig can be put, and the source that finds it there. */
type Place = Readonly<{
  source: CredentialSource;
  registration: ClusterRegistration;
  put: (kubeconfig: string | undefined) => Promise<void>;
  reads: () => number;
}>;

let files = 0;
function aFile(): Place {
  files += 1;
  const path = join(folder, `${files}.kubeconfig`);
  let stamps = 0;
  const clock = createManualClock(startMs);
  return {
    source: createFileCredentials({ kubeconfigs: new Map([["east", path]]), clock }),
    registration: aRegistration(),
    put: async (text) => {
      clock.advance(1_000); // a file is looked at once a second
      if (text === undefined) return rm(path, { force: true });
      await writeFile(path, text);
      stamps += 1;
      await utimes(path, stamps, stamps); // two writes within one tick of the file system
    },
    reads: () => 0,
  };
}
function aSecret(): Place & Readonly<{ clock: ReturnType<typeof createManualClock>; data: Map<string, string> }> {
  const clock = createManualClock(startMs);
  const data = new Map<string, string>();
  let reads = 0;
  const source = createSecretCredentials({
    hub: {
      readSecret: async (address) => {
        reads += 1;
        expect(address).toEqual({ logicalCluster: "abc", namespace: "default", name: "east" });
        return data.size === 0 ? undefined : { data: Object.fromEntries(data), resourceVersion: String(reads) };
      },
    },
    rules: {},
    clock,
    random: () => 1,
  });
  return {
    source,
    registration: named,
    clock,
    data,
    put: async (text) => {
      data.clear();
      if (text !== undefined) data.set("kubeconfig", base64(text));
      source.forget(key);
    },
    reads: () => reads,
  };
}

function aStoredSecret(): Place {
  const { secretsManager, secrets, reads } = fakeSecretsManager();
  const source = createSecretsManagerCredentials({
    secretsManager,
    rules: {},
    clock: createManualClock(startMs),
    random: () => 1,
  });
  return {
    source,
    registration: aRegistration({ spec: { credentials: { secretsManager: {} } } }),
    put: async (text) => {
      if (text === undefined) secrets.delete("tmc/abc/east");
      else secrets.set("tmc/abc/east", text);
      source.forget(key);
    },
    reads,
  };
}

describe.each([
  ["a file", aFile],
  ["a secret", aSecret],
  ["Secrets Manager", aStoredSecret],
])("credentials from %s", (_, aPlace) => {
  const find = ({ source, registration }: Place) => source.find({ key, registration }, signal);

  it("give the way into the cluster", async () => {
    const place = aPlace();
    await place.put(kubeconfig("open sesame".replace(" ", "-")));
    const found = await find(place);
    expect(found).toMatchObject({
      kind: "found",
      endpoint: { server: "https://east.example.com:6443", ca: authority.certificate },
    });
    expect(found.kind === "found" && (await found.endpoint.token?.())).toBe("open-sesame");
  });

  it("have one fingerprint as long as they are the same, and another when they change", async () => {
    const place = aPlace();
    const fingerprints: unknown[] = [];
    for (const token of ["one", "one", "two"]) {
      await place.put(kubeconfig(token));
      const found = await find(place);
      fingerprints.push(found.kind === "found" ? found.fingerprint : undefined);
    }
    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(fingerprints[0]).not.toBe(fingerprints[2]);
  });

  it("are taken up as soon as they are there, and dropped when they go", async () => {
    const place = aPlace();
    expect((await find(place)).kind).toBe("not-configured");
    await place.put(kubeconfig("token"));
    expect((await find(place)).kind).toBe("found");
    await place.put(undefined);
    expect((await find(place)).kind).toBe("not-configured");
  });

  it("show when they end, by their token or their certificate", async () => {
    const place = aPlace();
    await place.put(kubeconfig(jwt({ exp: startMs / 1000 + 3600 })));
    expect(await find(place)).toMatchObject({ kind: "found", expiresMs: startMs + 3_600_000 });
    const { certificate, key: privateKey } = authority.issueClient({ name: "tmc" }, { notAfter: startMs + 60_000 });
    await place.put(kubeconfig(jwt({ exp: startMs / 1000 + 3600 }), { certificate, key: privateKey }));
    expect(await find(place)).toMatchObject({ kind: "found", expiresMs: startMs + 60_000 });
    await place.put(kubeconfig("opaque"));
    expect(await find(place)).toMatchObject({ kind: "found", expiresMs: undefined });
  });

  it("that have ended are none", async () => {
    const place = aPlace();
    await place.put(kubeconfig(jwt({ exp: startMs / 1000 })));
    expect(await find(place)).toEqual({
      kind: "not-configured",
      reason: "CredentialsExpired",
      message: "the credentials for the cluster have expired",
      expiresMs: startMs,
    });
  });

  it("that run a program are refused, with the reason", async () => {
    const place = aPlace();
    await place.put(
      JSON.stringify({
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        clusters: [{ name: "c", cluster: { server: "https://east.example.com" } }],
        users: [{ name: "u", user: { exec: { command: "/bin/sh" } } }],
      }),
    );
    const found = await find(place);
    expect(found).toMatchObject({ kind: "not-configured", reason: "CredentialsInvalid" });
    expect(found.kind === "not-configured" && found.message).toContain("exec runs a program");
  });

  it("never show in a message, whatever is wrong with them", async () => {
    const secret = "s3cr3t-t0k3n-value";
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.string({ maxLength: 4 }), fc.nat(3), async (at, noise, mode) => {
        const place = aPlace();
        const text = kubeconfig(secret);
        const cut = at % text.length;
        const spoilt = mode === 0 ? text.slice(0, cut) : text.slice(0, cut) + noise + text.slice(cut + mode);
        await place.put(spoilt);
        const found = await find(place);
        if (found.kind === "not-configured") {
          expect(found.message).not.toMatch(/s3cr3t|t0k3n|BEGIN/);
          return;
        }
        const token = await found.endpoint.token?.();
        const said = `the server says ${token}!`;
        if (token) expect(found.conceal(said)).toBe(said.replaceAll(token, "…"));
      }),
      { numRuns: 150 },
    );
  });
});

describe("credentials from a file", () => {
  it("are seen to have changed within a second, and at once when they were refused", async () => {
    const path = join(folder, "changing.kubeconfig");
    const clock = createManualClock(startMs);
    const source = createFileCredentials({ kubeconfigs: new Map([["east", path]]), clock });
    const token = async (): Promise<string | undefined> => {
      const found = await source.find({ key, registration: aRegistration() }, signal);
      return found.kind === "found" ? found.endpoint.token?.() : found.reason;
    };
    await writeFile(path, kubeconfig("first"));
    expect(await token()).toBe("first");
    await writeFile(path, kubeconfig("the second"));
    clock.advance(999);
    expect(await token()).toBe("first");
    clock.advance(1);
    expect(await token()).toBe("the second");
    await writeFile(path, kubeconfig("and the third"));
    source.forget(key);
    expect(await token()).toBe("and the third");
  });
  it("count only in the logical clusters that the operator means", async () => {
    const source = createFileCredentials({
      kubeconfigs: new Map([["east", join(folder, "none")]]),
      servesCluster: (cluster) => cluster === "mine",
      clock: createManualClock(startMs),
    });
    expect(await source.find({ key, registration: aRegistration() }, signal)).toMatchObject({
      reason: "ClusterNotConfigured",
      message: 'no kubeconfig is given for cluster "east"',
    });
  });
  it("are never led to a server that the registration names", async () => {
    const place = aFile();
    await place.put(kubeconfig("token"));
    const registration = aRegistration({ spec: { endpoint: { server: "https://evil.example.com" } } });
    expect(await place.source.find({ key, registration }, signal)).toMatchObject({
      endpoint: { server: "https://east.example.com:6443" },
      givenBy: "operator",
    });
  });
});

describe("credentials from a secret", () => {
  const find = ({ source }: Place, registration = named) => source.find({ key, registration }, signal);

  it("are read again after five minutes, and not before", async () => {
    const place = aSecret();
    await place.put(kubeconfig("token"));
    for (const [waitMs, reads] of [
      [0, 1],
      [299_000, 1],
      [1_000, 2],
      [1_000, 2],
    ] as const) {
      place.clock.advance(waitMs);
      await find(place);
      expect(place.reads()).toBe(reads);
    }
  });
  it("that are missing are looked for once a minute", async () => {
    const place = aSecret();
    for (const [waitMs, reads] of [
      [0, 1],
      [59_000, 1],
      [1_000, 2],
    ] as const) {
      place.clock.advance(waitMs);
      expect(await find(place)).toMatchObject({ message: "secret default/east is not there" });
      expect(place.reads()).toBe(reads);
    }
  });
  it("are read again when the registration changes", async () => {
    const place = aSecret();
    await place.put(kubeconfig("token"));
    await find(place);
    await find(place, { ...named, metadata: { ...named.metadata, generation: 2 } });
    expect(place.reads()).toBe(2);
  });
  it("may be a token for the endpoint in the registration", async () => {
    const place = aSecret();
    place.data.set("token", base64("open-sesame\n")).set("ca.crt", base64(authority.certificate));
    const registration = aRegistration({ spec: { ...named.spec, endpoint: { server: "https://east.example.com/" } } });
    const found = await find(place, registration);
    expect(found).toMatchObject({
      endpoint: { server: "https://east.example.com", ca: authority.certificate },
      givenBy: "tenant",
    });
    expect(found.kind === "found" && (await found.endpoint.token?.())).toBe("open-sesame");
  });
  it("take the endpoint's certificates as PEM and as base64", async () => {
    for (const caBundle of [authority.certificate, base64(authority.certificate)]) {
      const place = aSecret();
      place.data.set("token", base64("t"));
      const endpoint = { server: "https://east.example.com", caBundle };
      expect(await find(place, aRegistration({ spec: { ...named.spec, endpoint } }))).toMatchObject({
        endpoint: { ca: authority.certificate },
      });
    }
  });

  it("that the workspace does not let us read are not configured; a hub that is down is no news", async () => {
    const failing = (fault: "forbidden" | "invalid" | "unreachable") =>
      createSecretCredentials({
        hub: { readSecret: () => Promise.reject(new ControllerError(fault, "no")) },
        rules: {},
        clock: createManualClock(startMs),
      }).find({ key, registration: named }, signal);
    expect(await failing("forbidden")).toMatchObject({ kind: "not-configured", reason: "ClusterNotConfigured" });
    expect(await failing("invalid")).toMatchObject({ message: "secret default/east: is not the name of a secret" });
    await expect(failing("unreachable")).rejects.toMatchObject({ fault: "unreachable" });
  });
});

describe.each([
  ["a secret", aSecret],
  ["Secrets Manager", aStoredSecret],
])("a kubeconfig from %s", (_, aPlace) => {
  const refused: Record<string, { cluster?: object; user?: object; reason: string; message: string }> = {
    "a file of ours": {
      user: { tokenFile: "/var/run/token" },
      reason: "CredentialsInvalid",
      message: "tokenFile names a file",
    },
    "a certificate file of ours": {
      cluster: { "certificate-authority": "/etc/ca" },
      reason: "CredentialsInvalid",
      message: "certificate-authority names a file",
    },
    "a server that is not checked": {
      cluster: { "insecure-skip-tls-verify": true },
      reason: "CredentialsInvalid",
      message: "turns off the check of the server",
    },
    "a program of its choice": {
      user: { exec: { command: "/bin/sh" } },
      reason: "CredentialsInvalid",
      message: "exec runs a program",
    },
    "a login of its own": {
      user: { "auth-provider": { name: "x" } },
      reason: "CredentialsInvalid",
      message: "auth-provider",
    },
    "plain http": { cluster: { server: "http://127.0.0.1" }, reason: "CredentialsInvalid", message: "not https" },
    "a server in our network": {
      cluster: { server: "https://10.0.0.1" },
      reason: "EndpointNotAllowed",
      message: "private network",
    },
    "a metadata service": {
      cluster: { server: "https://169.254.169.254" },
      reason: "EndpointNotAllowed",
      message: "metadata",
    },
  };
  for (const [what, { cluster, user, reason, message }] of Object.entries(refused)) {
    it(`may not lead to ${what}`, async () => {
      const place = aPlace();
      await place.put(
        JSON.stringify({
          "current-context": "c",
          contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
          clusters: [{ name: "c", cluster: { server: "https://east.example.com", ...cluster } }],
          users: [{ name: "u", user: user ?? { token: "t" } }],
        }),
      );
      const found = await place.source.find({ key, registration: place.registration }, signal);
      expect(found).toMatchObject({ kind: "not-configured", reason });
      expect(found.kind === "not-configured" && found.message).toContain(message);
    });
  }
});

describe("where credentials are looked for", () => {
  const says = (message: string): CredentialSource => ({
    find: async () => ({ kind: "not-configured", reason: "ClusterNotConfigured", message }),
    forget: () => {},
  });
  const ways = {
    secretRef: { namespace: "default", name: "east" },
    eks: { clusterName: "east", region: "eu-central-1" },
    secretsManager: {},
  } as const;

  it("is where the registration says, and the operator's own place where it says nothing", async () => {
    const source = createCredentialSource({
      secretRef: says("secretRef"),
      eks: says("eks"),
      secretsManager: says("secretsManager"),
      otherwise: says("otherwise"),
    });
    for (const [way, reference] of Object.entries(ways)) {
      const registration = aRegistration({ spec: { credentials: { [way]: reference } } });
      expect(await source.find({ key, registration }, signal)).toMatchObject({ message: way });
    }
    expect(await source.find({ key, registration: aRegistration() }, signal)).toMatchObject({ message: "otherwise" });
  });
  it("is nowhere else: a way that is not offered is said to be so", async () => {
    const source = createCredentialSource({ otherwise: says("otherwise") });
    for (const [way, reference] of Object.entries(ways)) {
      const registration = aRegistration({ spec: { credentials: { [way]: reference } } });
      expect(await source.find({ key, registration }, signal)).toEqual({
        kind: "not-configured",
        reason: "ClusterNotConfigured",
        message: `credentials of the kind ${way} are not offered here`,
      });
    }
    expect(await createCredentialSource({}).find({ key, registration: aRegistration() }, signal)).toMatchObject({
      message: "no credentials are configured for the cluster",
    });
  });
});

describe("the command line's kubeconfigs", () => {
  it("are names with paths", () => {
    expect(parseClusterKubeconfigs("east=/a/east.yaml, west=b=c")).toEqual(
      new Map([
        ["east", "/a/east.yaml"],
        ["west", "b=c"],
      ]),
    );
  });
  const bad: Record<string, string> = {
    "/a/east.yaml": '"/a/east.yaml" is not name=path',
    "east=": '"east=" is not name=path',
    "=path": '"=path" is not name=path',
    "": '"" is not name=path',
    "East=/a": '"East" is not the name of a cluster',
    "root:a=/a": '"root:a" is not the name of a cluster',
    "east=/a,east=/b": '"east" is given twice',
    "a,b=": '"a" is not name=path; "b=" is not name=path',
  };
  for (const [text, problem] of Object.entries(bad)) {
    it(`say what is wrong with ${text || "nothing"}`, () => {
      expect(() => parseClusterKubeconfigs(text)).toThrow(`cluster kubeconfigs: ${problem}`);
    });
  }
});
