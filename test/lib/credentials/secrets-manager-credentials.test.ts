import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { describe, expect, it } from "vitest";
import { secretNameOf } from "../../../lib/credentials/secret-name.ts";
import { createSecretsManagerCredentials } from "../../../lib/credentials/secrets-manager.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import { aRegistration } from "../registration/registrations.ts";
import { awsError, fakeSecretsManager } from "./fake-secrets-manager.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const scope = { stage: "prod", hubId: "hub1" };
const signal = new AbortController().signal;
const { certificate: ca } = createCertificateAuthority();
const server = "https://east.example.com:6443";

function aStore(content?: string, rules = {}) {
  const store = fakeSecretsManager(content === undefined ? [] : [["tmc/prod/hub1/abc/east", content]]);
  const clock = createManualClock();
  const source = createSecretsManagerCredentials({
    secretsManager: store.secretsManager,
    scope,
    rules,
    clock,
    random: () => 1,
  });
  return { ...store, clock, source, find: () => source.find({ key, registration: aRegistration() }, signal) };
}

describe("secretNameOf", () => {
  it("the secret name contains stage, hub, logical cluster and registration", () => {
    expect(secretNameOf(scope, key)).toBe("tmc/prod/hub1/abc/east");
    expect(secretNameOf(scope, { ...key, logicalCluster: "" })).toBe("tmc/prod/hub1/_/east");
  });
  it("the secret names of two stages, and of two plain hubs, differ", () => {
    const plain = { ...key, logicalCluster: "" };
    const names = [scope, { ...scope, stage: "dev" }, { ...scope, hubId: "hub2" }].map((each) =>
      secretNameOf(each, plain),
    );
    expect(new Set(names).size).toBe(3);
  });
  it.each(["_", "a/b", "A", "..", "root:a", "-a"])(
    "the secret name rejects the logical cluster %j",
    (logicalCluster) => {
      expect(() => secretNameOf(scope, { ...key, logicalCluster })).toThrow("invalid name");
    },
  );
});

describe("createSecretsManagerCredentials", () => {
  it.each([
    ["JSON", JSON.stringify({ server: `${server}/`, ca, token: "open-sesame\n" })],
    ["JSON with the certificates as base64", JSON.stringify({ server, ca: btoa(ca), token: "open-sesame" })],
    ["YAML", `server: ${server}\ntoken: open-sesame\nca: ${btoa(ca)}\n`],
  ])("a secret can contain server, ca and token as %s", async (_, content) => {
    const found = await aStore(content).find();
    expect(found).toMatchObject({ kind: "found", endpoint: { server, ca }, providedBy: "tenant" });
    expect(found.kind === "found" && (await found.endpoint.token?.())).toBe("open-sesame");
  });

  const wrong: Record<string, Readonly<{ content: object; message: string; reason?: string }>> = {
    "no token": { content: { server }, message: "secret tmc/prod/hub1/abc/east: credentials: token is missing" },
    "a token that is not a string": {
      content: { server, token: { a: "s3cr3t" } },
      message: "secret tmc/prod/hub1/abc/east: credentials: token is missing",
    },
    "an invalid CA": {
      content: { server, token: "t", ca: "s3cr3t" },
      message: "secret tmc/prod/hub1/abc/east: credentials: ca is not PEM",
    },
    "unknown fields": {
      content: { server, token: "t", s3cr3t: 1 },
      message: "secret tmc/prod/hub1/abc/east: credentials: fields other than server, ca and token are not allowed",
    },
    "plain http": {
      content: { server: "http://127.0.0.1", token: "t" },
      message: "secret tmc/prod/hub1/abc/east: credentials: server is not https",
    },
    "a private address": {
      content: { server: "https://10.1.2.3", token: "t" },
      message: "the server is not allowed: its address is in a private network",
      reason: "EndpointNotAllowed",
    },
    "the metadata service": {
      content: { server: "https://169.254.169.254", token: "t" },
      message: "the server is not allowed: its address is link-local or belongs to a metadata service",
      reason: "EndpointNotAllowed",
    },
  };
  it.each(Object.entries(wrong))("a secret with %s is rejected", async (_, { content, message, reason }) => {
    expect(await aStore(JSON.stringify(content)).find()).toEqual({
      kind: "not-configured",
      reason: reason ?? "CredentialsInvalid",
      message,
    });
  });
  it("a secret can refer to servers in networks that the operator allows", async () => {
    const at = (address: string) => JSON.stringify({ server: `https://${address}`, token: "t" });
    const rules = { allowedRanges: ["10.0.0.0/8"] };
    expect(await aStore(at("10.1.2.3"), rules).find()).toMatchObject({ kind: "found" });
    expect(await aStore(at("127.0.0.1"), rules).find()).toMatchObject({ reason: "EndpointNotAllowed" });
    expect(await aStore(at("169.254.169.254"), { allowedRanges: ["0.0.0.0/0"] }).find()).toMatchObject({
      reason: "EndpointNotAllowed",
    });
  });
  it("the message about a missing secret contains its name", async () => {
    expect(await aStore().find()).toEqual({
      kind: "not-configured",
      reason: "ClusterNotConfigured",
      message: "secret tmc/prod/hub1/abc/east does not exist in AWS Secrets Manager",
    });
  });

  const failures: Record<string, Readonly<{ error: Error; fault?: string; message: string }>> = {
    "AWS denies access": {
      error: awsError("AccessDeniedException"),
      message: "AWS denies TMC access to the secret tmc/prod/hub1/abc/east",
    },
    "the secret is scheduled for deletion": {
      error: awsError("InvalidRequestException"),
      message: "secret tmc/prod/hub1/abc/east does not exist in AWS Secrets Manager",
    },
    "AWS throttles": {
      error: awsError("ThrottlingException"),
      fault: "throttled",
      message: "secret tmc/prod/hub1/abc/east: ThrottlingException",
    },
    "AWS returns a server error": {
      error: awsError("InternalServiceError", 500),
      fault: "unreachable",
      message: "secret tmc/prod/hub1/abc/east: unreachable",
    },
    "AWS is unreachable": {
      error: Object.assign(new Error("connect"), { code: "ECONNREFUSED" }),
      fault: "unreachable",
      message: "secret tmc/prod/hub1/abc/east: unreachable",
    },
  };
  it.each(Object.entries(failures))(
    "if %s, the message contains no AWS message",
    async (_, { error, fault, message }) => {
      const store = aStore("{}");
      store.fail(error);
      if (fault === undefined) expect(await store.find()).toMatchObject({ kind: "not-configured", message });
      else await expect(store.find()).rejects.toMatchObject({ fault, message });
    },
  );

  it("a secret is cached for five minutes, a missing one for one minute, and neither after it was invalidated", async () => {
    const store = aStore();
    const readsAfter = async (waitMs: number): Promise<number> => {
      store.clock.advance(waitMs);
      await store.find();
      return store.reads();
    };
    expect([await readsAfter(0), await readsAfter(59_000), await readsAfter(1_000)]).toEqual([1, 1, 2]);
    store.secrets.set("tmc/prod/hub1/abc/east", JSON.stringify({ server, token: "t" }));
    expect([await readsAfter(60_000), await readsAfter(299_000), await readsAfter(1_000)]).toEqual([3, 3, 4]);
    store.source.invalidate(key);
    expect(await readsAfter(0)).toBe(5);
  });
  it("a cached secret is served while AWS fails, but not after the cluster rejected it", async () => {
    const store = aStore(JSON.stringify({ server, token: "t" }));
    await store.find();
    store.fail(awsError("ThrottlingException"));
    store.clock.advance(300_000);
    expect(await store.find()).toMatchObject({ kind: "found" });
    store.source.invalidate(key);
    await expect(store.find()).rejects.toMatchObject({ fault: "throttled" });
  });
});
