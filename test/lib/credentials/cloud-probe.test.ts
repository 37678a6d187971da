import { startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { afterEach, describe, expect, it } from "vitest";
import type { ClusterRegistration } from "../../../lib/api/cluster-registration.ts";
import type { CallAws } from "../../../lib/credentials/aws-call.ts";
import { createCloudCredentials } from "../../../lib/credentials/cloud-credentials.ts";
import { createConnections } from "../../../lib/credentials/connections.ts";
import { functionTransports } from "../../../lib/credentials/function-transport.ts";
import { createRegistrationWorld } from "../../../lib/engine/registration-world.ts";
import type { ObjectKey } from "../../../lib/model/key.ts";
import type { ProbeOutcome } from "../../../lib/registration/probe-outcome.ts";
import { startServer } from "../../support/http-server.ts";
import { aRegistration } from "../registration/registrations.ts";
import { fakeSecretsManager } from "./fake-secrets-manager.ts";
import { expectedSignature } from "./signature.ts";

const key: ObjectKey = { logicalCluster: "abc", kind: "ClusterRegistration", name: "east" };
const identity = { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "s3cr3t-key" };
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** Probes clusters like a Lambda function, with AWS in memory. */
function aFunction({ allowedRanges = ["127.0.0.0/8"], callAws }: { allowedRanges?: string[]; callAws?: CallAws } = {}) {
  const store = fakeSecretsManager();
  const rules = { allowedRanges };
  const connections = createConnections({ openTransport: functionTransports(rules) });
  ends.push(() => connections.close());
  const hub = {
    read: async () => undefined,
    confirm: async () => undefined,
    list: async () => [],
    writeStatus: async <T>(_: ObjectKey, seen: T) => seen,
    writeFinalizers: async <T>(_: ObjectKey, seen: T) => seen,
    readSecret: async () => undefined,
  };
  const world = createRegistrationWorld({
    hub,
    queue: { send: async () => {}, sendLater: async () => {} },
    connections,
    credentials: createCloudCredentials({
      hub,
      rules,
      secretsManager: store.secretsManager,
      scope: { stage: "prod", hubId: "hub1" },
      awsCredentials: async () => identity,
      clock: systemClock,
      callAws,
    }),
    clock: systemClock,
    factsHash: () => "",
    mayAffect: () => true,
  });
  const probe = (registration: ClusterRegistration = aRegistration()): Promise<ProbeOutcome> =>
    world.probe(key, registration, { detect: false, fresh: false, timeoutMs: 5_000 }, new AbortController().signal);
  return { ...store, probe };
}

describe("probe of a cluster by a function", () => {
  it("a function reads the secret of a cluster again once if the cluster rejects the token", async () => {
    const cluster = await startEmbeddedCluster({ name: "east", adminToken: "two" });
    ends.push(() => cluster.stop());
    const kubeconfig = (token: string): string =>
      formatKubeconfig({ contexts: [{ name: "east", endpoint: cluster.endpoint(), token }] });
    const { probe, secrets, reads } = aFunction();
    expect(await probe()).toMatchObject({
      kind: "not-configured",
      message: expect.stringContaining("tmc/prod/hub1/abc/east"),
    });

    const stale = aFunction();
    stale.secrets.set("tmc/prod/hub1/abc/east", kubeconfig("one"));
    expect(await stale.probe()).toMatchObject({ kind: "failed", reason: "CredentialsRejected" });
    expect(stale.reads()).toBe(2);
    stale.secrets.set("tmc/prod/hub1/abc/east", kubeconfig("two"));
    expect([(await stale.probe()).kind, stale.reads()]).toEqual(["healthy", 3]);
    expect([(await stale.probe()).kind, stale.reads()]).toEqual(["healthy", 3]);
    expect([reads(), secrets.size]).toEqual([1, 0]);
  });

  it("a function probes only clusters at addresses that the operator allows", async () => {
    const cluster = await startEmbeddedCluster({ name: "east" });
    ends.push(() => cluster.stop());
    const { probe, secrets } = aFunction({ allowedRanges: [] });
    const token = cluster.adminToken;
    secrets.set(
      "tmc/prod/hub1/abc/east",
      formatKubeconfig({ contexts: [{ name: "east", endpoint: cluster.endpoint(), token }] }),
    );
    expect(await probe()).toMatchObject({ kind: "not-configured", reason: "EndpointNotAllowed" });
  });

  it("a function sends a valid EKS token only to the endpoint that AWS returned", async () => {
    const authority = createCertificateAuthority();
    const { certificate, key: privateKey } = authority.issueServing(["127.0.0.1"]);
    const server = await startServer({ cert: certificate, key: privateKey });
    ends.push(() => server.close());
    server.handle(({ headers }, response) => {
      const [, token = ""] = /^Bearer k8s-aws-v1\.([\w-]+)$/.exec(headers.authorization ?? "") ?? [];
      const url = new URL(Buffer.from(token, "base64url").toString("utf8"));
      const signed = { host: url.host, "x-k8s-aws-id": "prod-east" };
      const isOurs =
        url.searchParams.get("X-Amz-Signature") === expectedSignature(url, signed, identity.secretAccessKey);
      response.writeHead(isOurs ? 200 : 401).end(JSON.stringify({ metadata: { uid: "u1" } }));
    });
    const { probe } = aFunction({
      allowedRanges: [],
      callAws: async ({ hostname, path }) => {
        expect(hostname + path).toBe("eks.eu-central-1.amazonaws.com/clusters/prod-east");
        return JSON.stringify({
          cluster: {
            endpoint: server.url,
            certificateAuthority: { data: btoa(authority.certificate) },
            tags: { "tmc.kcp.io/logical-cluster": "abc" },
          },
        });
      },
    });
    const eks = { clusterName: "prod-east", region: "eu-central-1" };
    const endpoint = { server: "https://evil.example.com" };
    expect(await probe(aRegistration({ spec: { endpoint, credentials: { eks } } }))).toEqual({
      kind: "healthy",
      identity: { kind: "known", uid: "u1" },
      credentialsExpireMs: undefined,
    });
    expect(server.requests).toHaveLength(2);
  });
});
