import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import type { Transport, TransportRequest } from "@tmc/kube/transport/transport.ts";
import { describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import { type CallAws, createCallAws } from "../../../lib/credentials/aws-call.ts";
import { createEksCredentials, createEksToken } from "../../../lib/credentials/eks-credentials.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
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

/** A fake AWS with one response per host; it records the requests. */
function anAws(answers: Readonly<Record<string, string | ControllerError>>, rules = {}) {
  const asked: Readonly<{ url: string; caller: string }>[] = [];
  const clock = createManualClock();
  const callAws: CallAws = async ({ hostname, path, query = {} }, { identity: caller }) => {
    asked.push({ url: `${hostname}${path}?${new URLSearchParams(query)}`, caller: caller.accessKeyId });
    const answer = answers[hostname] ?? new ControllerError("unreachable", `no response for ${hostname}`);
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
  return { asked, clock, source, find: (registration = registered()) => source.find({ key, registration }, signal) };
}
const eksHost = "eks.eu-central-1.amazonaws.com";
const stsHost = "sts.eu-central-1.amazonaws.com";

describe("createEksToken", () => {
  const atMs = Date.parse("2026-01-02T03:04:05Z");
  const urlOf = (token: string): URL =>
    new URL(Buffer.from(token.replace("k8s-aws-v1.", ""), "base64url").toString("utf8"));

  it("an EKS token is a presigned STS request for one cluster that is valid for a minute", async () => {
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
  it("the signature of an EKS token is valid and covers the name of the cluster", async () => {
    const url = urlOf(await createEksToken({ clusterName: "east", region: "eu-central-1" }, { identity, atMs }));
    const by = (cluster: string) =>
      expectedSignature(url, { host: url.host, "x-k8s-aws-id": cluster }, identity.secretAccessKey);
    expect(url.searchParams.get("X-Amz-Signature")).toBe(by("east"));
    expect(url.searchParams.get("X-Amz-Signature")).not.toBe(by("west"));
  });
  it("an EKS token uses the STS endpoint of the region's partition", async () => {
    const url = urlOf(await createEksToken({ clusterName: "east", region: "cn-north-1" }, { identity, atMs }));
    expect(url.host).toBe("sts.cn-north-1.amazonaws.com.cn");
  });
});

describe("createEksCredentials", () => {
  it("EKS credentials contain the endpoint that AWS returned, not that of the registration", async () => {
    const { find, asked } = anAws({ [eksHost]: described() });
    const registration = registered();
    const found = await find({
      ...registration,
      spec: { ...registration.spec, endpoint: { server: "https://evil.example.com" } },
    });
    expect(found).toMatchObject({
      kind: "found",
      endpoint: { server, ca },
      providedBy: "operator",
      expiresMs: undefined,
    });
    const token = found.kind === "found" ? ((await found.endpoint.token?.()) ?? "") : "";
    expect(token).toMatch(/^k8s-aws-v1\./);
    expect(found.kind === "found" && found.redact(`no: ${token}`)).toBe("no: …");
    expect(asked).toEqual([{ url: `${eksHost}/clusters/east?`, caller: identity.accessKeyId }]);
  });

  const notConfiguredCases: Record<
    string,
    Readonly<{ answer: string | ControllerError; reason: string; message: string }>
  > = {
    "has no tag": {
      answer: described({ tags: undefined }),
      reason: "CredentialsInvalid",
      message:
        'EKS cluster "east" in eu-central-1 does not exist or does not have the tag tmc.kcp.io/logical-cluster=abc',
    },
    "has the tag of another tenant": {
      answer: described({ tags: { "tmc.kcp.io/logical-cluster": "abcd" } }),
      reason: "CredentialsInvalid",
      message:
        'EKS cluster "east" in eu-central-1 does not exist or does not have the tag tmc.kcp.io/logical-cluster=abc',
    },
    "does not exist": {
      answer: new ControllerError("not-found", "no"),
      reason: "CredentialsInvalid",
      message:
        'EKS cluster "east" in eu-central-1 does not exist or does not have the tag tmc.kcp.io/logical-cluster=abc',
    },
    "may not be described by TMC": {
      answer: new ControllerError("forbidden", "no"),
      reason: "ClusterNotConfigured",
      message: "AWS denies TMC access to EKS clusters in eu-central-1",
    },
    "is still being created": {
      answer: described({ endpoint: undefined, certificateAuthority: {} }),
      reason: "ClusterNotConfigured",
      message: 'EKS cluster "east" has no endpoint yet',
    },
  };
  it.each(Object.entries(notConfiguredCases))(
    "EKS credentials are not configured if the cluster %s",
    async (_, { answer, reason, message }) => {
      expect(await anAws({ [eksHost]: answer }).find()).toEqual({ kind: "not-configured", reason, message });
    },
  );
  it.each([
    ["throttles", new ControllerError("throttled", "no"), "throttled"],
    ["returns no JSON", "<html>", "unreachable"],
    ["returns no cluster", "{}", "unreachable"],
  ])("EKS credentials fail with a transient fault if AWS %s", async (_, answer, fault) => {
    await expect(anAws({ [eksHost]: answer }).find()).rejects.toMatchObject({ fault });
  });

  it("EKS credentials are cached for ten minutes, until they are invalidated or the registration changes", async () => {
    const { find, asked, clock, source } = anAws({ [eksHost]: described() });
    const hashes = new Set<string>();
    const askedAfter = async (waitMs: number, registration = registered()): Promise<number> => {
      clock.advance(waitMs);
      const found = await find(registration);
      hashes.add(found.kind === "found" ? found.hash : "");
      return asked.length;
    };
    expect([await askedAfter(0), await askedAfter(599_000), await askedAfter(1_000)]).toEqual([1, 1, 2]);
    expect(hashes.size).toBe(2);
    source.invalidate(key);
    expect(await askedAfter(0)).toBe(3);
    expect(await askedAfter(0, registered({ clusterName: "west" }, 2))).toBe(4);
    expect(asked.at(-1)?.url).toBe(`${eksHost}/clusters/west?`);
  });
});

describe("EKS clusters in another account", () => {
  const account = "210987654321";
  const session =
    "<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>" +
    "<SecretAccessKey>abc/+=</SecretAccessKey><SessionToken>t0k/+=</SessionToken></Credentials></AssumeRoleResult></AssumeRoleResponse>";

  it("a cluster in another account is described with the tenant's role and the logical cluster as external ID", async () => {
    const { find, asked } = anAws({ [stsHost]: session, [eksHost]: described() });
    expect(await find(registered({ account }))).toMatchObject({ kind: "found", providedBy: "tenant" });
    const [role, cluster] = asked.map(({ url, caller }) => [new URL(`https://${url}`), caller] as const);
    expect(Object.fromEntries(role?.[0].searchParams ?? [])).toMatchObject({
      Action: "AssumeRole",
      RoleArn: "arn:aws:iam::210987654321:role/tmc/abc",
      ExternalId: "abc",
    });
    expect([role?.[1], cluster?.[1]]).toEqual(["AKIDEXAMPLE", "ASIA1"]);
  });
  it("a cluster in another account is not configured while the role cannot be assumed", async () => {
    const { find } = anAws({ [stsHost]: new ControllerError("forbidden", "no") });
    expect(await find(registered({ account }))).toMatchObject({
      reason: "ClusterNotConfigured",
      message:
        "AWS does not allow TMC to assume the role arn:aws:iam::210987654321:role/tmc/abc with the external ID abc",
    });
  });
  it("the endpoint of a cluster in another account must satisfy the endpoint rules", async () => {
    const { find } = anAws({ [stsHost]: session, [eksHost]: described({ endpoint: "https://10.0.0.1" }) });
    expect(await find(registered({ account }))).toMatchObject({ reason: "EndpointNotAllowed" });
  });
});

describe("createCallAws", () => {
  const scope = { identity, service: "eks", region: "eu-central-1" };
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

  it("requests to AWS are signed and reuse connections", async () => {
    const { callAws, sent, servers } = answering(200, "{}");
    await callAws(request, scope);
    await callAws(request, scope);
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
    "a missing cluster": [404, '{"__type":"ResourceNotFoundException"}', "not-found", "404 ResourceNotFoundException"],
    "a denied request": [
      403,
      '{"__type":"com.amazon#AccessDeniedException"}',
      "forbidden",
      "403 AccessDeniedException",
    ],
    "a denied request in XML": [403, "<Error><Code>AccessDenied</Code></Error>", "forbidden", "403 AccessDenied"],
    throttling: [400, '{"code":"ThrottlingException"}', "throttled", "400 ThrottlingException"],
    "a server error": [503, "<html>", "unreachable", "503"],
    "an unexpected status": [302, "", "unreachable", "302"],
  };
  it.each(Object.entries(answers))("callAws maps %s to a fault", async (_, [status, text, fault, expected]) => {
    await expect(answering(status, text).callAws(request, scope)).rejects.toMatchObject({
      fault,
      message: `aws eks in eu-central-1: ${expected}`,
    });
  });
});
