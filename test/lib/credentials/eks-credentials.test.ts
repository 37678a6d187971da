import { createCertificateAuthority } from "@tmc/embedded/certificates.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { Transport, TransportRequest } from "@tmc/kube/transport.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type CallAws, createCallAws } from "../../../lib/credentials/aws-call.ts";
import { createEksCredentials, createEksToken } from "../../../lib/credentials/eks-credentials.ts";

import type { ObjectKey } from "../../../lib/model/key.ts";
import { createManualClock } from "../../support/manual-clock.ts";
import { aRegistration } from "../registration/registrations.ts";
import { expectedSignature } from "./signature.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const signal = new AbortController().signal;
const identity = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "s3cr3t-key", sessionToken: "s3ss10n+token/=" };
const { certificate: ca } = createCertificateAuthority();
const server = "https://0123456789.gr7.eu-central-1.eks.amazonaws.com";
const tags = { "tmc.kcp.io/logical-cluster": "abc" };

type Eks = NonNullable<NonNullable<ClusterRegistration["spec"]["credentials"]>["eks"]>;
const registered = (eks: Partial<Eks> = {}, generation = 1): ClusterRegistration =>
  aRegistration({
    metadata: { generation },
    spec: { credentials: { eks: { clusterName: "east", region: "eu-central-1", ...eks } } },
  });
const described = (changes: object = {}): string =>
  JSON.stringify({ cluster: { endpoint: server, certificateAuthority: { data: btoa(ca) }, tags, ...changes } });

/** AWS as far as it is asked: an answer for each host, and what was asked of it. */
function anAws(answers: Readonly<Record<string, string | ControllerError>>, rules = {}) {
  const asked: Readonly<{ url: string; whose: string }>[] = [];
  const clock = createManualClock();
  const callAws: CallAws = async ({ hostname, path, query = {} }, { identity: who }) => {
    asked.push({ url: `${hostname}${path}?${new URLSearchParams(query)}`, whose: who.accessKeyId });
    const answer = answers[hostname] ?? new ControllerError("unreachable", `nobody is at ${hostname}`);
    if (typeof answer === "string") return answer;
    throw answer;
  };
  const source = createEksCredentials({
    callAws,
    awsCredentials: async () => identity,
    rules,
    clock,
    random: () => 1,
  });
  return { asked, clock, source, find: (wanted = registered()) => source.find({ key, registration: wanted }, signal) };
}
const eksHost = "eks.eu-central-1.amazonaws.com";
const stsHost = "sts.eu-central-1.amazonaws.com";

describe("a token for an EKS cluster", () => {
  const atMs = Date.parse("2026-01-02T03:04:05Z");
  const urlOf = (token: string): URL =>
    new URL(Buffer.from(token.replace("k8s-aws-v1.", ""), "base64url").toString("utf8"));

  it("is a question to STS that only this cluster can ask, signed by us for a minute", async () => {
    const token = await createEksToken({ clusterName: "east", region: "eu-central-1" }, { identity, atMs });
    expect(token).toMatch(/^k8s-aws-v1\.[\w-]+$/);
    const url = urlOf(token);
    expect(url.origin).toBe(`https://${stsHost}`);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: "GetCallerIdentity",
      Version: "2011-06-15",
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": "AKIDEXAMPLE/20260102/eu-central-1/sts/aws4_request",
      "X-Amz-Date": "20260102T030405Z",
      "X-Amz-Expires": "60",
      "X-Amz-Security-Token": identity.sessionToken,
      "X-Amz-SignedHeaders": "host;x-k8s-aws-id",
      "X-Amz-Signature": expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });
  it("is signed as AWS checks it, with the cluster's name in it", async () => {
    const url = urlOf(await createEksToken({ clusterName: "east", region: "eu-central-1" }, { identity, atMs }));
    const by = (cluster: string) =>
      expectedSignature(url, { host: url.host, "x-k8s-aws-id": cluster }, identity.secretAccessKey);
    expect(url.searchParams.get("X-Amz-Signature")).toBe(by("east"));
    expect(url.searchParams.get("X-Amz-Signature")).not.toBe(by("west"));
  });
  it("asks STS of the region's own partition", async () => {
    const url = urlOf(await createEksToken({ clusterName: "east", region: "cn-north-1" }, { identity, atMs }));
    expect(url.host).toBe("sts.cn-north-1.amazonaws.com.cn");
  });
});

describe("credentials for an EKS cluster", () => {
  it("lead to the endpoint that AWS names, and to no other", async () => {
    const { find, asked } = anAws({ [eksHost]: described() });
    const wanted = registered();
    const found = await find({ ...wanted, spec: { ...wanted.spec, endpoint: { server: "https://evil.example.com" } } });
    expect(found).toMatchObject({ kind: "found", endpoint: { server, ca }, givenBy: "operator", expiresMs: undefined });
    const token = found.kind === "found" ? ((await found.endpoint.token?.()) ?? "") : "";
    expect(token).toMatch(/^k8s-aws-v1\./);
    expect(found.kind === "found" && found.conceal(`no: ${token}`)).toBe("no: …");
    expect(asked).toEqual([{ url: `${eksHost}/clusters/east?`, whose: identity.accessKeyId }]);
  });

  const refusals: Record<string, Readonly<{ answer: string | ControllerError; reason: string; message: string }>> = {
    "carries no tag": {
      answer: described({ tags: undefined }),
      reason: "CredentialsInvalid",
      message: 'EKS cluster "east" in eu-central-1 is not there, or is not tagged tmc.kcp.io/logical-cluster=abc',
    },
    "carries another tenant's tag": {
      answer: described({ tags: { "tmc.kcp.io/logical-cluster": "abcd" } }),
      reason: "CredentialsInvalid",
      message: 'EKS cluster "east" in eu-central-1 is not there, or is not tagged tmc.kcp.io/logical-cluster=abc',
    },
    "is not there": {
      answer: new ControllerError("not-found", "no"),
      reason: "CredentialsInvalid",
      message: 'EKS cluster "east" in eu-central-1 is not there, or is not tagged tmc.kcp.io/logical-cluster=abc',
    },
    "is none of ours to look at": {
      answer: new ControllerError("forbidden", "no"),
      reason: "ClusterNotConfigured",
      message: "AWS does not let TMC look at EKS clusters in eu-central-1",
    },
    "is still being made": {
      answer: described({ endpoint: undefined, certificateAuthority: {} }),
      reason: "ClusterNotConfigured",
      message: 'EKS cluster "east" has no endpoint yet',
    },
  };
  it.each(Object.entries(refusals))("are none when it %s", async (_, { answer, reason, message }) => {
    expect(await anAws({ [eksHost]: answer }).find()).toEqual({ kind: "not-configured", reason, message });
  });
  it.each([
    ["throttles", new ControllerError("throttled", "no"), "throttled"],
    ["answers something else", "<html>", "unreachable"],
    ["answers without a cluster", "{}", "unreachable"],
  ])("cannot be had just now when AWS %s", async (_, answer, fault) => {
    await expect(anAws({ [eksHost]: answer }).find()).rejects.toMatchObject({ fault });
  });

  it("are used for ten minutes, and made anew when forgotten or when the registration changes", async () => {
    const { find, asked, clock, source } = anAws({ [eksHost]: described() });
    const fingerprints = new Set<string>();
    const askedAfter = async (waitMs: number, wanted = registered()): Promise<number> => {
      clock.advance(waitMs);
      const found = await find(wanted);
      fingerprints.add(found.kind === "found" ? found.fingerprint : "");
      return asked.length;
    };
    expect([await askedAfter(0), await askedAfter(599_000), await askedAfter(1_000)]).toEqual([1, 1, 2]);
    expect(fingerprints.size).toBe(2);
    source.forget(key);
    expect(await askedAfter(0)).toBe(3);
    expect(await askedAfter(0, registered({ clusterName: "west" }, 2))).toBe(4);
    expect(asked.at(-1)?.url).toBe(`${eksHost}/clusters/west?`);
  });
});

describe("an EKS cluster in another account", () => {
  const account = "210987654321";
  const session =
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>" +
    "<SecretAccessKey>abc/+=</SecretAccessKey><SessionToken>t0k/+=</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>";

  it("is asked for in the role that the tenant has made, under an external id that no tenant can choose", async () => {
    const { find, asked } = anAws({ [stsHost]: session, [eksHost]: described() });
    expect(await find(registered({ account }))).toMatchObject({ kind: "found", givenBy: "tenant" });
    const [role, cluster] = asked.map(({ url, whose }) => [new URL(`https://${url}`), whose] as const);
    expect(Object.fromEntries(role?.[0].searchParams ?? [])).toMatchObject({
      Action: "AssumeRole",
      RoleArn: "arn:aws:iam::210987654321:role/tmc/abc",
      ExternalId: "abc",
    });
    expect([role?.[1], cluster?.[1]]).toEqual(["AKIDEXAMPLE", "ASIA1"]);
  });
  it("is not configured while the role does not let us", async () => {
    const { find } = anAws({ [stsHost]: new ControllerError("forbidden", "no") });
    expect(await find(registered({ account }))).toMatchObject({
      reason: "ClusterNotConfigured",
      message: "AWS does not let TMC take the role arn:aws:iam::210987654321:role/tmc/abc with the external id abc",
    });
  });
  it("is held to the rules for tenants", async () => {
    const { find } = anAws({ [stsHost]: session, [eksHost]: described({ endpoint: "https://10.0.0.1" }) });
    expect(await find(registered({ account }))).toMatchObject({ reason: "EndpointNotAllowed" });
  });
});

describe("a call to AWS", () => {
  const whose = { identity, service: "eks", region: "eu-central-1" };
  const request = { method: "GET", hostname: eksHost, path: "/clusters/east" } as const;
  const answering = (status: number, text: string) => {
    const sent: TransportRequest[] = [];
    const servers: string[] = [];
    const transport: Transport = {
      send: async (each) => {
        sent.push(each);
        return { status, headers: {}, text: async () => text, chunks: async function* () {}, cancel: () => {} };
      },
      close: async () => {},
    };
    const openTransport = (to: string): Transport => {
      servers.push(to);
      return transport;
    };
    return { sent, servers, callAws: createCallAws({ clock: createManualClock(), openTransport }) };
  };

  it("is signed, and goes to the service alone, over connections that are kept", async () => {
    const { callAws, sent, servers } = answering(200, "{}");
    await callAws(request, whose);
    await callAws(request, whose);
    expect(servers).toEqual([`https://${eksHost}`]);
    expect(sent[0]).toMatchObject({
      method: "GET",
      path: "/clusters/east",
      headers: {
        host: eksHost,
        "x-amz-date": "20260101T000000Z",
        "x-amz-security-token": identity.sessionToken,
        authorization: expect.stringMatching(
          /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/20260101\/eu-central-1\/eks\/aws4_request, SignedHeaders=host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
        ),
      },
    });
  });

  const answers: Record<string, readonly [number, string, string, string]> = {
    "a cluster that is not there": [
      404,
      '{"__type":"ResourceNotFoundException"}',
      "not-found",
      "404 ResourceNotFoundException",
    ],
    "no right": [403, '{"__type":"com.amazon#AccessDeniedException"}', "forbidden", "403 AccessDeniedException"],
    "no right, in XML": [403, "<Error><Code>AccessDenied</Code></Error>", "forbidden", "403 AccessDenied"],
    "too much": [400, '{"code":"ThrottlingException"}', "throttled", "400 ThrottlingException"],
    "an illness": [503, "<html>", "unreachable", "503"],
    "something strange": [302, "", "unreachable", "302"],
  };
  it.each(Object.entries(answers))("says in our words: %s", async (_, [status, text, fault, words]) => {
    await expect(answering(status, text).callAws(request, whose)).rejects.toMatchObject({
      fault,
      message: `aws eks in eu-central-1: ${words}`,
    });
  });
});
