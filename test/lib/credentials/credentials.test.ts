import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import {
  type CredentialSource,
  createCredentialSource,
  credentialLifetime,
} from "../../../lib/credentials/credentials.ts";
import { createFileCredentials, parseClusterKubeconfigs } from "../../../lib/credentials/file-credentials.ts";
import { createSecretCredentials } from "../../../lib/credentials/secret-credentials.ts";
import { createSecretsManagerCredentials } from "../../../lib/credentials/secrets-manager.ts";
import type { HubSecret } from "../../../lib/model/hub.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { aRegistration } from "../registration/registrations.ts";
import { fakeSecretsManager } from "./fake-secrets-manager.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const signal = new AbortController().signal;
const startMs = Date.parse("2026-01-01T00:00:00Z");
const dayMs = 24 * 60 * 60 * 1000;
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

/** A store for a kubeconfig, and the source that reads it. */
type Store = Readonly<{
  source: CredentialSource;
  registration: ClusterRegistration;
  put: (kubeconfig: string | undefined) => Promise<void>;
  reads: () => number;
}>;

let files = 0;
function fileStore(): Store {
  files += 1;
  const path = join(folder, `${files}.kubeconfig`);
  let stamps = 0;
  const clock = createManualClock(startMs);
  return {
    source: createFileCredentials({ kubeconfigs: new Map([["east", path]]), clock }),
    registration: aRegistration(),
    put: async (text) => {
      clock.advance(1_000); // a file is checked once per second
      if (text === undefined) return rm(path, { force: true });
      await writeFile(path, text);
      stamps += 1;
      await utimes(path, stamps, stamps); // gives two writes within one tick of the file system different times
    },
    reads: () => 0,
  };
}
function secretStore(
  metadata: Partial<HubSecret> = {},
): Store & Readonly<{ clock: ReturnType<typeof createManualClock>; data: Map<string, string> }> {
  const clock = createManualClock(startMs);
  const data = new Map<string, string>();
  let reads = 0;
  const source = createSecretCredentials({
    hub: {
      readSecret: async (address) => {
        reads += 1;
        expect(address).toEqual({ logicalCluster: "abc", namespace: "default", name: "east" });
        if (data.size === 0) return undefined;
        const labels = { "tmc.kcp.io/cluster-credentials": "east" };
        return { type: "Opaque", labels, data: Object.fromEntries(data), resourceVersion: String(reads), ...metadata };
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
      source.invalidate(key);
    },
    reads: () => reads,
  };
}

function secretsManagerStore(): Store {
  const { secretsManager, secrets, reads } = fakeSecretsManager();
  const source = createSecretsManagerCredentials({
    secretsManager,
    scope: { stage: "prod", hubId: "hub1" },
    rules: {},
    clock: createManualClock(startMs),
    random: () => 1,
  });
  return {
    source,
    registration: aRegistration({ spec: { credentials: { secretsManager: {} } } }),
    put: async (text) => {
      if (text === undefined) secrets.delete("tmc/prod/hub1/abc/east");
      else secrets.set("tmc/prod/hub1/abc/east", text);
      source.invalidate(key);
    },
    reads,
  };
}

describe.each([
  ["a file", fileStore],
  ["a secret", secretStore],
  ["Secrets Manager", secretsManagerStore],
])("credentials from %s", (_, createStore) => {
  const find = ({ source, registration }: Store) => source.find({ key, registration }, signal);

  it("credentials contain endpoint and token of the cluster", async () => {
    const store = createStore();
    await store.put(kubeconfig("open sesame".replace(" ", "-")));
    const found = await find(store);
    expect(found).toMatchObject({
      kind: "found",
      endpoint: { server: "https://east.example.com:6443", ca: authority.certificate },
    });
    expect(found.kind === "found" && (await found.endpoint.token?.())).toBe("open-sesame");
  });

  it("the hash of credentials changes only with the credentials", async () => {
    const store = createStore();
    const fingerprints: unknown[] = [];
    for (const token of ["one", "one", "two"]) {
      await store.put(kubeconfig(token));
      const found = await find(store);
      fingerprints.push(found.kind === "found" ? found.hash : undefined);
    }
    expect(fingerprints[0]).toBe(fingerprints[1]);
    expect(fingerprints[0]).not.toBe(fingerprints[2]);
  });

  it("new credentials are found, and deleted ones are no longer returned", async () => {
    const store = createStore();
    expect((await find(store)).kind).toBe("not-configured");
    await store.put(kubeconfig("token"));
    expect((await find(store)).kind).toBe("found");
    await store.put(undefined);
    expect((await find(store)).kind).toBe("not-configured");
  });

  it("the expiry time is that of the token or the certificate", async () => {
    const store = createStore();
    await store.put(kubeconfig(jwt({ exp: startMs / 1000 + 3600 })));
    expect(await find(store)).toMatchObject({ kind: "found", expiresMs: startMs + 3_600_000 });
    const { certificate, key: privateKey } = authority.issueClient({ name: "tmc" }, { notAfter: startMs + 60_000 });
    await store.put(kubeconfig(jwt({ exp: startMs / 1000 + 3600 }), { certificate, key: privateKey }));
    expect(await find(store)).toMatchObject({ kind: "found", expiresMs: startMs + 60_000 });
    await store.put(kubeconfig("opaque"));
    expect(await find(store)).toMatchObject({ kind: "found", expiresMs: undefined });
  });

  it.each([
    { lifetime: "of 90 days two weeks", issuedDays: -90, renewDays: -13.5 },
    { lifetime: "of a year two weeks", issuedDays: -365, renewDays: -14 },
    { lifetime: "of 10 days a day and a half", issuedDays: -10, renewDays: -1.5 },
    { lifetime: "of an hour nine minutes", issuedDays: -1 / 24, renewDays: -0.15 / 24 },
    { lifetime: "that is not known two weeks", issuedDays: undefined, renewDays: -14 },
    { lifetime: "that ends before it begins two weeks", issuedDays: 1, renewDays: -14 },
  ])("credentials with a lifetime $lifetime before its end should be renewed", ({ issuedDays, renewDays }) => {
    const iat = issuedDays === undefined ? undefined : (startMs + issuedDays * dayMs) / 1000;
    const lifetime = credentialLifetime({ token: jwt({ exp: startMs / 1000, ...(iat !== undefined && { iat }) }) });
    expect(lifetime.expiresMs).toBe(startMs);
    expect(((lifetime.renewMs ?? 0) - startMs) / dayMs).toBeCloseTo(renewDays, 6);
  });

  it("expired credentials are not returned", async () => {
    const store = createStore();
    await store.put(kubeconfig(jwt({ exp: startMs / 1000 })));
    expect(await find(store)).toEqual({
      kind: "not-configured",
      reason: "CredentialsExpired",
      message: "the credentials for the cluster have expired",
      expiresMs: startMs,
      renewMs: startMs - 14 * dayMs,
    });
  });

  it("credentials that run a program are rejected with a reason", async () => {
    const store = createStore();
    await store.put(
      JSON.stringify({
        "current-context": "c",
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        clusters: [{ name: "c", cluster: { server: "https://east.example.com" } }],
        users: [{ name: "u", user: { exec: { command: "/bin/sh" } } }],
      }),
    );
    const found = await find(store);
    expect(found).toMatchObject({ kind: "not-configured", reason: "CredentialsInvalid" });
    expect(found.kind === "not-configured" && found.message).toContain("exec runs a program");
  });

  it("messages about invalid credentials contain no secret", async () => {
    const secret = "s3cr3t-t0k3n-value";
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.string({ maxLength: 4 }), fc.nat(3), async (at, noise, mode) => {
        const store = createStore();
        const text = kubeconfig(secret);
        const cut = at % text.length;
        const spoilt = mode === 0 ? text.slice(0, cut) : text.slice(0, cut) + noise + text.slice(cut + mode);
        await store.put(spoilt);
        const found = await find(store);
        if (found.kind === "not-configured") {
          expect(found.message).not.toMatch(/s3cr3t|t0k3n|BEGIN/);
          return;
        }
        const token = await found.endpoint.token?.();
        const said = `the server says ${token}!`;
        if (token) expect(found.redact(said)).toBe(said.replaceAll(token, "…"));
      }),
      { numRuns: 150 },
    );
  });
});

describe("credentials from a file", () => {
  it("a changed file is read within a second, and at once after the cluster rejected its credentials", async () => {
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
    source.invalidate(key);
    expect(await token()).toBe("and the third");
  });
  it("a file for a workspace is not used for a registration of the same name in another workspace", async () => {
    const path = join(folder, "scoped.kubeconfig");
    await writeFile(path, kubeconfig("operator"));
    const source = createFileCredentials({
      kubeconfigs: new Map([["root:mine/east", path]]),
      workspaceOf: (logicalCluster) => ({ abc: "root:mine" })[logicalCluster] ?? logicalCluster,
      clock: createManualClock(startMs),
    });
    const find = (logicalCluster: string) =>
      source.find({ key: { ...key, logicalCluster }, registration: aRegistration() }, signal);
    expect(await find("abc")).toMatchObject({ kind: "found", providedBy: "operator" });
    expect(await find("other")).toMatchObject({
      reason: "ClusterNotConfigured",
      message: 'no kubeconfig is configured for cluster "east"',
    });
  });
  it("a file can be for the name of a logical cluster", async () => {
    const path = join(folder, "scoped.kubeconfig");
    await writeFile(path, kubeconfig("operator"));
    const source = createFileCredentials({
      kubeconfigs: new Map([["abc/east", path]]),
      workspaceOf: () => "root:mine",
      clock: createManualClock(startMs),
    });
    expect(await source.find({ key, registration: aRegistration() }, signal)).toMatchObject({ kind: "found" });
  });
  it("the endpoint of a registration does not redirect credentials from a file", async () => {
    const store = fileStore();
    await store.put(kubeconfig("token"));
    const registration = aRegistration({ spec: { endpoint: { server: "https://evil.example.com" } } });
    expect(await store.source.find({ key, registration }, signal)).toMatchObject({
      endpoint: { server: "https://east.example.com:6443" },
      providedBy: "operator",
    });
  });
});

describe("credentials from a secret", () => {
  const find = ({ source }: Store, registration = named) => source.find({ key, registration }, signal);

  it("a Secret is read again after five minutes", async () => {
    const store = secretStore();
    await store.put(kubeconfig("token"));
    for (const [waitMs, reads] of [
      [0, 1],
      [299_000, 1],
      [1_000, 2],
      [1_000, 2],
    ] as const) {
      store.clock.advance(waitMs);
      await find(store);
      expect(store.reads()).toBe(reads);
    }
  });
  it("a Secret that is read again is parsed again only if its content changed", async () => {
    const store = secretStore();
    const endpointNow = async () => {
      store.source.invalidate(key); // as after a rejected token
      const found = await find(store);
      return found.kind === "found" ? found.endpoint : undefined;
    };
    await store.put(kubeconfig("token"));
    const first = await endpointNow();
    expect(first).toBeDefined();
    expect(await endpointNow()).toBe(first);
    await store.put(kubeconfig("other"));
    expect(await endpointNow()).not.toBe(first);
    expect(store.reads()).toBe(3);
  });
  it("a missing Secret is read once per minute", async () => {
    const store = secretStore();
    for (const [waitMs, reads] of [
      [0, 1],
      [59_000, 1],
      [1_000, 2],
    ] as const) {
      store.clock.advance(waitMs);
      expect(await find(store)).toMatchObject({ message: "secret default/east does not exist" });
      expect(store.reads()).toBe(reads);
    }
  });
  it("a Secret is read again when the registration changes", async () => {
    const store = secretStore();
    await store.put(kubeconfig("token"));
    await find(store);
    await find(store, { ...named, metadata: { ...named.metadata, generation: 2 } });
    expect(store.reads()).toBe(2);
  });
  const usable: Readonly<Record<string, Partial<HubSecret>>> = {
    "has a label with the name of the registration": { labels: { "tmc.kcp.io/cluster-credentials": "east" } },
    "has the type for credentials of clusters": { labels: {}, type: "tmc.kcp.io/cluster-credentials" },
  };
  it.each(Object.entries(usable))("a Secret can be used if it %s", async (_, metadata) => {
    const store = secretStore(metadata);
    await store.put(kubeconfig("token"));
    expect(await find(store)).toMatchObject({ kind: "found" });
  });
  const unusable: Readonly<Record<string, Readonly<{ metadata: Partial<HubSecret>; says: string }>>> = {
    "has no label": { metadata: { labels: {} }, says: "label it tmc.kcp.io/cluster-credentials=east" },
    "has the label of another registration": {
      metadata: { labels: { "tmc.kcp.io/cluster-credentials": "west" } },
      says: "label it tmc.kcp.io/cluster-credentials=east",
    },
    "is the token of a service account": {
      metadata: { type: "kubernetes.io/service-account-token" },
      says: "a service account token is not accepted",
    },
  };
  it.each(Object.entries(unusable))("a Secret cannot be used if it %s", async (_, { metadata, says }) => {
    const store = secretStore(metadata);
    await store.put(kubeconfig("token"));
    expect(await find(store)).toMatchObject({
      kind: "not-configured",
      reason: "CredentialsInvalid",
      message: expect.stringContaining(says),
    });
  });
  it("the token of a Secret is sent only to the server that the Secret names", async () => {
    const registration = aRegistration({ spec: { ...named.spec, endpoint: { server: "https://other.example.com" } } });
    const store = secretStore();
    store.data.set("token", base64("open-sesame"));
    expect(await find(store, registration)).toMatchObject({
      kind: "not-configured",
      message: "secret default/east has a token and no key server",
    });
    store.data.set("server", base64("https://east.example.com"));
    store.source.invalidate(key);
    expect(await find(store, registration)).toMatchObject({
      reason: "CredentialsInvalid",
      message: "secret default/east: its server is not the server in spec.endpoint",
    });
    expect(await find(store, { ...named, metadata: { ...named.metadata, generation: 2 } })).toMatchObject({
      endpoint: { server: "https://east.example.com" },
    });
  });
  it("a Secret can contain a server and a token", async () => {
    const store = secretStore();
    store.data
      .set("token", base64("open-sesame\n"))
      .set("server", base64("https://east.example.com\n"))
      .set("ca.crt", base64(authority.certificate));
    const registration = aRegistration({ spec: { ...named.spec, endpoint: { server: "https://east.example.com/" } } });
    const found = await find(store, registration);
    expect(found).toMatchObject({
      endpoint: { server: "https://east.example.com", ca: authority.certificate },
      providedBy: "tenant",
    });
    expect(found.kind === "found" && (await found.endpoint.token?.())).toBe("open-sesame");
  });
  it("the CA bundle of the endpoint can be PEM or base64", async () => {
    for (const caBundle of [authority.certificate, base64(authority.certificate)]) {
      const store = secretStore();
      store.data.set("token", base64("t")).set("server", base64("https://east.example.com"));
      const endpoint = { server: "https://east.example.com", caBundle };
      expect(await find(store, aRegistration({ spec: { ...named.spec, endpoint } }))).toMatchObject({
        endpoint: { ca: authority.certificate },
      });
    }
  });

  it("a forbidden Secret is not configured, and an unreachable upstream is an error", async () => {
    const failing = (fault: "forbidden" | "invalid" | "unreachable") =>
      createSecretCredentials({
        hub: { readSecret: () => Promise.reject(new ControllerError(fault, "no")) },
        rules: {},
        clock: createManualClock(startMs),
      }).find({ key, registration: named }, signal);
    expect(await failing("forbidden")).toMatchObject({ kind: "not-configured", reason: "ClusterNotConfigured" });
    expect(await failing("invalid")).toMatchObject({ message: "secret default/east: invalid name" });
    await expect(failing("unreachable")).rejects.toMatchObject({ fault: "unreachable" });
  });
});

describe.each([
  ["a secret", secretStore],
  ["Secrets Manager", secretsManagerStore],
])("a kubeconfig from %s", (_, createStore) => {
  const rejected: Record<string, { cluster?: object; user?: object; reason: string; message: string }> = {
    "a local token file": {
      user: { tokenFile: "/var/run/token" },
      reason: "CredentialsInvalid",
      message: "tokenFile names a file",
    },
    "a local certificate file": {
      cluster: { "certificate-authority": "/etc/ca" },
      reason: "CredentialsInvalid",
      message: "certificate-authority names a file",
    },
    "a server without TLS verification": {
      cluster: { "insecure-skip-tls-verify": true },
      reason: "CredentialsInvalid",
      message: "turns off the check of the server",
    },
    "a program": {
      user: { exec: { command: "/bin/sh" } },
      reason: "CredentialsInvalid",
      message: "exec runs a program",
    },
    "an auth-provider": {
      user: { "auth-provider": { name: "x" } },
      reason: "CredentialsInvalid",
      message: "auth-provider",
    },
    "plain http": { cluster: { server: "http://127.0.0.1" }, reason: "CredentialsInvalid", message: "not https" },
    "a server in a private network": {
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
  for (const [what, { cluster, user, reason, message }] of Object.entries(rejected)) {
    it(`a tenant's kubeconfig with ${what} is rejected`, async () => {
      const store = createStore();
      await store.put(
        JSON.stringify({
          "current-context": "c",
          contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
          clusters: [{ name: "c", cluster: { server: "https://east.example.com", ...cluster } }],
          users: [{ name: "u", user: user ?? { token: "t" } }],
        }),
      );
      const found = await store.source.find({ key, registration: store.registration }, signal);
      expect(found).toMatchObject({ kind: "not-configured", reason });
      expect(found.kind === "not-configured" && found.message).toContain(message);
    });
  }
});

describe("createCredentialSource", () => {
  const answering = (message: string): CredentialSource => ({
    find: async () => ({ kind: "not-configured", reason: "ClusterNotConfigured", message }),
    invalidate: () => {},
  });
  const references = {
    secretRef: { namespace: "default", name: "east" },
    eks: { clusterName: "east", region: "eu-central-1" },
    secretsManager: {},
  } as const;

  it("credentials come from the source in spec.credentials, or else from the default source", async () => {
    const source = createCredentialSource({
      secretRef: answering("secretRef"),
      eks: answering("eks"),
      secretsManager: answering("secretsManager"),
      default: answering("default"),
    });
    for (const [field, reference] of Object.entries(references)) {
      const registration = aRegistration({ spec: { credentials: { [field]: reference } } });
      expect(await source.find({ key, registration }, signal)).toMatchObject({ message: field });
    }
    expect(await source.find({ key, registration: aRegistration() }, signal)).toMatchObject({ message: "default" });
  });
  it("a source that is not enabled is reported", async () => {
    const source = createCredentialSource({ default: answering("default") });
    for (const [field, reference] of Object.entries(references)) {
      const registration = aRegistration({ spec: { credentials: { [field]: reference } } });
      expect(await source.find({ key, registration }, signal)).toEqual({
        kind: "not-configured",
        reason: "ClusterNotConfigured",
        message: `spec.credentials.${field} is not enabled on this installation`,
      });
    }
    expect(await createCredentialSource({}).find({ key, registration: aRegistration() }, signal)).toMatchObject({
      message: "no credentials are configured for the cluster",
    });
  });
});

describe("parseClusterKubeconfigs", () => {
  it("parseClusterKubeconfigs returns paths by cluster name", () => {
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
    "East=/a": '"East" is not a valid cluster name',
    "root:a=/a": '"root:a" is not a valid cluster name',
    "east=/a,east=/b": '"east" is given twice',
    "a,b=": '"a" is not name=path; "b=" is not name=path',
  };
  for (const [text, expected] of Object.entries(bad)) {
    it(`parseClusterKubeconfigs rejects "${text}"`, () => {
      expect(() => parseClusterKubeconfigs(text)).toThrow(`cluster kubeconfigs: ${expected}`);
    });
  }
});
