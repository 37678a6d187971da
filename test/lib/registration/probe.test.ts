import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Transport, TransportRequest } from "@tmc/kube/transport/transport.ts";
import { type ResponseLimits, untrustedServerLimits } from "@tmc/kube/transport/transport-limits.ts";
import { afterEach, describe, expect, it } from "vitest";
import { type ProbeOptions, probe, sumNodes } from "../../../lib/registration/probe.ts";

const clusters: EmbeddedCluster[] = [];
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.stop();
});

/** A user with only the permissions of every authenticated user. */
const users = { unprivileged: { name: "unprivileged", groups: ["system:authenticated"] } };

async function aCluster(options: Partial<Parameters<typeof startEmbeddedCluster>[0]> = {}): Promise<EmbeddedCluster> {
  const cluster = await startEmbeddedCluster({ name: "east", listen: false, users, ...options });
  clusters.push(cluster);
  return cluster;
}

function clientOver(transport: Transport, clock?: Clock): { client: KubeClient; paths: string[] } {
  const paths: string[] = [];
  const counting: Transport = {
    send: (request) => {
      paths.push(request.path.split("?", 1)[0] ?? "");
      return transport.send(request);
    },
    close: () => transport.close(),
  };
  const endpoint = { server: "https://embedded.invalid" };
  return { client: createKubeClient({ endpoint, transport: counting, name: "cluster east", clock }), paths };
}

/** A transport with fixed responses. */
function responding(respond: (request: TransportRequest) => Readonly<{ status: number; text?: string }>): Transport {
  return {
    send: async (request) => {
      const { status, text = "" } = respond(request);
      const headers = { "content-type": text.startsWith("{") ? "application/json" : "text/plain" };
      return {
        status,
        headers,
        text: async () => text,
        chunks: async function* () {
          yield text;
        },
        cancel: () => {},
      };
    },
    close: async () => {},
  };
}

const options = (changes: Partial<ProbeOptions> = {}): ProbeOptions => ({
  timeoutMs: 5_000,
  signal: new AbortController().signal,
  clock: createManualClock(),
  detect: false,
  ...changes,
});

const identityPath = "/api/v1/namespaces/kube-system";

describe("probe of a healthy cluster", () => {
  it("needs one request for its health and one for its identity", async () => {
    const { client, paths } = clientOver((await aCluster()).transport());
    const identity = { kind: "known", uid: expect.stringMatching(/^[0-9a-f-]{36}$/) };
    expect(await probe(client, options())).toEqual({ path: "/readyz", outcome: { kind: "healthy", identity } });
    expect(paths).toEqual(["/readyz", identityPath]);
  });

  it("has the same identity with every probe, and another one than any other cluster", async () => {
    const uidOf = async (cluster: EmbeddedCluster): Promise<string | undefined> => {
      const { outcome } = await probe(clientOver(cluster.transport()).client, options());
      return outcome.kind === "healthy" && outcome.identity.kind === "known" ? outcome.identity.uid : undefined;
    };
    const [east, west] = [await aCluster(), await aCluster({ name: "west" })];
    const uid = await uidOf(east);
    expect(uid).toBeDefined();
    expect(await uidOf(east)).toBe(uid);
    expect(await uidOf(west)).not.toBe(uid);
  });

  it.each([
    [403, "the credentials may not read the namespace kube-system"],
    [404, "the server does not have the namespace kube-system"],
    [200, "the namespace kube-system has no valid uid"],
  ])(
    "is healthy and has an unknown identity if the namespace kube-system is answered with %i",
    async (status, message) => {
      const { client } = clientOver(
        responding(({ path }) =>
          path === identityPath ? { status, text: '{"metadata":{"uid":7}}' } : { status: 200 },
        ),
      );
      expect((await probe(client, options())).outcome).toEqual({
        kind: "healthy",
        identity: { kind: "unreadable", message },
      });
    },
  );

  it("detects version, APIs, nodes, storage and pods with six more requests", async () => {
    const { client, paths } = clientOver((await aCluster()).transport());
    const { outcome } = await probe(client, options({ detect: true }));
    expect(outcome).toMatchObject({
      kind: "healthy",
      detected: {
        version: "v1.36.3",
        nodes: {
          nodes: { ready: 3, total: 3 },
          capacity: { cpu: "24", memory: "96Gi", pods: "330" },
          allocatable: { cpu: "24", memory: "96Gi", pods: "330" },
          gpu: false,
        },
      },
    });
    expect(paths.toSorted()).toEqual(
      [
        "/api",
        "/api/v1/nodes",
        "/api/v1/pods",
        "/apis",
        "/apis/storage.k8s.io/v1/storageclasses",
        identityPath,
        "/readyz",
        "/version",
      ].toSorted(),
    );
    const apis = outcome.kind === "healthy" ? (outcome.detected?.apis ?? []) : [];
    const served = new Map(apis.map(({ groupVersion, kinds }) => [groupVersion, kinds]));
    expect(served.get("apps/v1")).toContain("Deployment");
    expect(served.get("v1")).toContain("Service");
    expect([...served.keys()]).toEqual([...served.keys()].toSorted());
  });

  it("succeeds without permission to list nodes", async () => {
    const { client } = clientOver((await aCluster()).transport("unprivileged"));
    const { outcome } = await probe(client, options({ detect: true }));
    expect(outcome).toMatchObject({ kind: "healthy", detected: { nodes: "forbidden", version: "v1.36.3" } });
  });

  it("runs the detection if the version of the cluster has changed", async () => {
    const { client } = clientOver((await aCluster()).transport());
    const { outcome } = await probe(client, options({ path: "/version", version: "v1.35.0" }));
    expect(outcome).toMatchObject({ kind: "healthy", detected: { version: "v1.36.3" } });
    expect((await probe(client, options({ path: "/version", version: "v1.36.3" }))).outcome).toEqual({
      kind: "healthy",
      identity: { kind: "known", uid: expect.any(String) },
    });
  });
});

describe("probe of a cluster without all health endpoints", () => {
  const cases: Record<string, { refuse: readonly string[]; status: number; path: string }> = {
    "uses /livez if /readyz is forbidden": { refuse: ["/readyz"], status: 403, path: "/livez" },
    "uses /version if /readyz and /livez are forbidden": {
      refuse: ["/readyz", "/livez"],
      status: 403,
      path: "/version",
    },
    "uses /version if /readyz and /livez do not exist": {
      refuse: ["/readyz", "/livez"],
      status: 404,
      path: "/version",
    },
  };
  for (const [rule, { refuse, status, path }] of Object.entries(cases)) {
    it(rule, async () => {
      const { client, paths } = clientOver(
        responding((request) =>
          refuse.includes(request.path) ? { status } : { status: 200, text: '{"gitVersion":"v1.30.0"}' },
        ),
      );
      expect(await probe(client, options({ version: "v1.30.0" }))).toMatchObject({
        path,
        outcome: { kind: "healthy" },
      });
      paths.length = 0;
      await probe(client, options({ version: "v1.30.0", path: path === "/livez" ? "/livez" : "/version" }));
      expect(paths).toEqual([path, identityPath]); // the known path is tried first
    });
  }
});

describe("probe of an unhealthy cluster", () => {
  const network = (code: string): Transport => ({
    send: () => Promise.reject(Object.assign(new Error(`${code} 10.0.0.1:41234`), { code })),
    close: async () => {},
  });
  const cases: Record<string, { transport: Transport; reason: string; message: string }> = {
    "reports the failed checks in sorted order": {
      transport: responding(() => ({
        status: 500,
        text: "[+]ping ok\n[-]log failed: reason withheld\n[-]etcd failed: x\nreadyz check failed",
      })),
      reason: "ClusterUnhealthy",
      message: "/readyz returned 500: etcd, log failed",
    },
    "reports an overloaded cluster": {
      transport: responding(() => ({ status: 429 })),
      reason: "ClusterUnhealthy",
      message: "/readyz returned 429: the cluster is overloaded",
    },
    "reports a redirect and does not follow it": {
      transport: responding(() => ({ status: 302 })),
      reason: "ClusterUnhealthy",
      message: "/readyz returned 302: redirects are not followed",
    },
    "reports rejected credentials": {
      transport: responding(() => ({ status: 401 })),
      reason: "CredentialsRejected",
      message: "the cluster rejects the credentials",
    },
    "reports AccessDenied if all health endpoints are forbidden": {
      transport: responding(() => ({ status: 403 })),
      reason: "AccessDenied",
      message: "the credentials are not allowed to read any of /readyz, /livez, /version",
    },
    "reports a web server that is not an API server": {
      transport: responding(({ path }) => ({ status: path === "/version" ? 200 : 404, text: "<html>" })),
      reason: "ClusterUnhealthy",
      message: "/version did not return a Kubernetes version",
    },
    "reports a refused connection without the port of the error": {
      transport: network("ECONNREFUSED"),
      reason: "ClusterUnhealthy",
      message: "cluster east: get /readyz: connection refused",
    },
    "reports an unknown server name": {
      transport: network("ENOTFOUND"),
      reason: "ClusterUnhealthy",
      message: "cluster east: get /readyz: server name not found",
    },
    "reports a certificate of an unknown authority": {
      transport: network("UNABLE_TO_VERIFY_LEAF_SIGNATURE"),
      reason: "ClusterUnhealthy",
      message: "cluster east: get /readyz: server certificate signed by an unknown authority",
    },
    "reports a rejected client certificate as rejected credentials": {
      transport: network("ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED"),
      reason: "CredentialsRejected",
      message: "cluster east: get /readyz: server refused our certificate",
    },
  };
  for (const [rule, { transport, reason, message }] of Object.entries(cases)) {
    it(rule, async () => {
      const { client } = clientOver(transport);
      expect((await probe(client, options({ detect: true }))).outcome).toEqual({ kind: "failed", reason, message });
    });
  }

  it("fails while the cluster is broken and succeeds after it recovers", async () => {
    const cluster = await aCluster();
    const { client } = clientOver(cluster.transport());
    cluster.makeBroken();
    expect((await probe(client, options())).outcome).toEqual({
      kind: "failed",
      reason: "ClusterUnhealthy",
      message: "/readyz returned 500: poststarthook/start-embedded-workloads failed",
    });
    cluster.recover();
    expect((await probe(client, options())).outcome.kind).toBe("healthy");
  });

  it("fails with ClusterUnhealthy if the cluster is unreachable", async () => {
    const cluster = await aCluster();
    cluster.makeUnreachable();
    const { client } = clientOver(cluster.transport());
    expect((await probe(client, options())).outcome).toMatchObject({ kind: "failed", reason: "ClusterUnhealthy" });
  });

  it("times out after five seconds if the cluster is slow or hangs", async () => {
    for (const fault of ["slow", "hanging"]) {
      const clock = createManualClock();
      const cluster = await aCluster({ clock });
      if (fault === "slow") cluster.makeSlow(6_000);
      else cluster.makeUnreachable("hang");
      const { client } = clientOver(cluster.transport(), clock);
      let isDone = false;
      const result = probe(client, options({ clock })).finally(() => {
        isDone = true;
      });
      await new Promise(setImmediate);
      clock.advance(4_999);
      await new Promise(setImmediate);
      expect(isDone).toBe(false);
      clock.advance(1);
      expect((await result).outcome).toEqual({
        kind: "failed",
        reason: "ClusterUnhealthy",
        message: "cluster east: get /readyz: no answer in time",
      });
    }
  });

  it("fails if the cluster does not answer which one it is", async () => {
    const { client } = clientOver(responding(({ path }) => ({ status: path === "/readyz" ? 200 : 500 })));
    expect((await probe(client, options())).outcome).toMatchObject({ kind: "failed", reason: "ClusterUnhealthy" });
  });

  it("succeeds even if the detection fails", async () => {
    const { client } = clientOver(
      responding(({ path }) => ({ status: path === "/readyz" ? 200 : path === identityPath ? 403 : 500 })),
    );
    expect((await probe(client, options({ detect: true }))).outcome).toEqual({
      kind: "healthy",
      identity: { kind: "unreadable", message: expect.any(String) },
      detected: { version: undefined, apis: undefined, nodes: undefined, storage: undefined },
    });
  });

  it("throws when the caller aborts", async () => {
    const cluster = await aCluster();
    cluster.makeUnreachable("hang");
    const { client } = clientOver(cluster.transport());
    const caller = new AbortController();
    const result = probe(client, options({ signal: caller.signal }));
    await new Promise(setImmediate);
    caller.abort(new Error("stopping"));
    await expect(result).rejects.toThrow("stopping");
  });
});

describe("detection of the requests of other pods", () => {
  const podList = "/api/v1/pods";
  const aPod = (namespace: string, cpu: string) => ({
    metadata: { name: "p", namespace },
    spec: { containers: [{ name: "main", resources: { requests: { cpu, memory: "1Mi" } } }] },
  });
  type PodPage = Readonly<{ status?: number; pods?: readonly object[]; token?: string }>;
  /** A cluster that answers everything but pods with 404; pods page by page. */
  const otherPods = async (pages: readonly PodPage[], limits?: ResponseLimits) => {
    const queries: URLSearchParams[] = [];
    const transport = responding(({ path }) => {
      const { pathname, searchParams } = new URL(path, "https://h");
      if (pathname !== podList) return { status: pathname === "/readyz" ? 200 : 404 };
      const page = pages[Math.min(queries.length, pages.length - 1)] ?? {};
      queries.push(searchParams);
      const list = { apiVersion: "v1", kind: "PodList", metadata: { continue: page.token }, items: page.pods ?? [] };
      return { status: page.status ?? 200, text: JSON.stringify(list) };
    });
    const endpoint = { server: "https://embedded.invalid" };
    const client = createKubeClient({ endpoint, transport, name: "cluster east", limits });
    const { outcome } = await probe(client, options({ detect: true, isOwnNamespace: (name) => name === "tmc-shop" }));
    return { found: outcome.kind === "healthy" ? outcome.detected?.otherPods : outcome, queries };
  };

  it("counts running pods page by page, without those in namespaces of TMC", async () => {
    const { found, queries } = await otherPods([
      { pods: [aPod("default", "250m"), aPod("tmc-shop", "8")], token: "next" },
      { pods: [aPod("kube-system", "750m")] },
    ]);
    const requests = { cpu: 1_000_000_000n, memory: 2n * 1_048_576n * 1_000_000_000n };
    expect(found).toEqual({ kind: "known", requests });
    expect(queries.map((query) => [query.get("limit"), query.get("continue")])).toEqual([
      ["500", null],
      ["500", "next"],
    ]);
    expect(queries[0]?.get("fieldSelector")).toBe("spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed");
  });

  const fullPage = Array.from({ length: 500 }, () => aPod("default", "1m"));
  const unknown: Record<string, { pages: readonly PodPage[]; limits?: ResponseLimits; found: object | undefined }> = {
    "may not be listed": { pages: [{ status: 403 }], found: { kind: "unknown", reason: "Forbidden" } },
    "have no end": { pages: [{ pods: fullPage, token: "more" }], found: { kind: "unknown", reason: "TooMany" } },
    "are too large for a tenant's server": {
      pages: [{ pods: [aPod("x".repeat(10_000), "1")] }],
      limits: { ...untrustedServerLimits, pageBytes: 5_000 },
      found: { kind: "unknown", reason: "TooMany" },
    },
    "cannot be read this time": { pages: [{ status: 500 }], found: undefined },
  };
  it.each(Object.entries(unknown))("says why they are not counted if they %s", async (_, { pages, limits, found }) => {
    const result = await otherPods(pages, limits);
    expect(result.found).toEqual(found);
    expect(result.queries.length).toBeLessThanOrEqual(11);
  });

  it("counts the pods of an embedded cluster that are bound and have not ended", async () => {
    const cluster = await aCluster();
    const { client } = clientOver(cluster.transport());
    const pods = { type: { group: "", version: "v1", plural: "pods" }, namespace: "default" };
    const spec = { containers: [{ name: "main", image: "nginx", resources: { requests: { cpu: "2" } } }] };
    await client.create(pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "bound" },
      spec: { ...spec, nodeName: "a-node" },
    });
    await client.create(pods, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "waiting" },
      spec: { ...spec, nodeSelector: { no: "node" } },
    });
    const { outcome } = await probe(client, options({ detect: true }));
    expect(outcome).toMatchObject({
      detected: { otherPods: { kind: "known", requests: { cpu: 2_000_000_000n } } },
    });
  });
});

describe("detection of served APIs", () => {
  it("reads the resource lists of each group if the server has no aggregated discovery", async () => {
    const bodies: Record<string, object> = {
      "/api": { kind: "APIVersions", versions: ["v1"] },
      "/apis": { kind: "APIGroupList", groups: [{ name: "apps", versions: [{ groupVersion: "apps/v1" }] }] },
      "/api/v1": {
        kind: "APIResourceList",
        resources: [
          { name: "services", kind: "Service", verbs: ["create", "get"] },
          { name: "services/status", kind: "Service", verbs: ["create"] },
          { name: "componentstatuses", kind: "ComponentStatus", verbs: ["get"] },
        ],
      },
      "/apis/apps/v1": {
        kind: "APIResourceList",
        resources: [{ name: "deployments", kind: "Deployment", verbs: ["create"] }],
      },
    };
    const { client } = clientOver(
      responding(({ path }) => {
        const body = bodies[path];
        return body === undefined
          ? { status: path === "/readyz" ? 200 : 404 }
          : { status: 200, text: JSON.stringify(body) };
      }),
    );
    const { outcome } = await probe(client, options({ detect: true }));
    expect(outcome).toMatchObject({
      detected: {
        apis: [
          { groupVersion: "apps/v1", kinds: ["Deployment"] },
          { groupVersion: "v1", kinds: ["Service"] },
        ],
        storage: false,
        nodes: "forbidden",
      },
    });
  });

  it("bounds the number of kinds and keeps the built-in ones", async () => {
    const resource = (kind: string) => ({ responseKind: { kind }, verbs: ["create"] });
    const group = (name: string, kinds: readonly string[]) => ({
      metadata: { name },
      versions: [{ version: "v1", resources: kinds.map(resource) }],
    });
    const many = Array.from({ length: 300 }, (_, index) =>
      group(
        `g${index}.example.com`,
        Array.from({ length: 20 }, (__, kind) => `Kind${kind}`),
      ),
    );
    const bodies: Record<string, object> = {
      "/api": { kind: "APIGroupDiscoveryList", items: [group("", ["Service"])] },
      "/apis": { kind: "APIGroupDiscoveryList", items: [...many, group("networking.k8s.io", ["Ingress"])] },
    };
    const { client } = clientOver(
      responding(({ path }) => ({ status: 200, text: JSON.stringify(bodies[path] ?? {}) })),
    );
    const { outcome } = await probe(client, options({ detect: true }));
    const apis = outcome.kind === "healthy" ? (outcome.detected?.apis ?? []) : [];
    expect(apis.flatMap(({ kinds }) => kinds)).toHaveLength(2_000);
    expect(apis.map(({ groupVersion }) => groupVersion)).toEqual(
      expect.arrayContaining(["v1", "networking.k8s.io/v1"]),
    );
  });
});

describe("sumNodes", () => {
  const node = (changes: { ready?: boolean; unschedulable?: boolean; amounts?: object } = {}): KubeObject => {
    const amounts = changes.amounts ?? { cpu: "4", memory: "16Gi", pods: "110" };
    return {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n" },
      spec: { unschedulable: changes.unschedulable ?? false },
      status: {
        capacity: amounts,
        allocatable: amounts,
        conditions: [{ type: "Ready", status: changes.ready === false ? "Unknown" : "True" }],
      },
    };
  };
  it("counts all nodes for capacity and only ready, schedulable nodes for allocatable", () => {
    expect(sumNodes([node(), node({ ready: false }), node({ unschedulable: true })])).toEqual({
      nodes: { ready: 2, total: 3 },
      capacity: { cpu: "12", memory: "48Gi", pods: "330" },
      allocatable: { cpu: "4", memory: "16Gi", pods: "110" },
      gpu: false,
    });
  });
  it("adds quantities with different units exactly and ignores invalid ones", () => {
    const odd = [{ cpu: "3920m", memory: "1Gi" }, { cpu: "80m", memory: "512Mi" }, { cpu: "nonsense" }];
    expect(sumNodes(odd.map((amounts) => node({ amounts }))).capacity).toEqual({
      cpu: "4",
      memory: "1536Mi",
      pods: "0",
    });
  });
  it("sums ephemeral storage and GPUs of all vendors if nodes report them", () => {
    const one = { cpu: "8", memory: "32Gi", pods: "110", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "4" };
    const other = { cpu: "8", memory: "32Gi", pods: "110", "ephemeral-storage": "50Gi", "amd.com/gpu": "1" };
    const sums = { cpu: "16", memory: "64Gi", pods: "220", storage: "150Gi", gpu: "5" };
    expect(sumNodes([node({ amounts: one }), node({ amounts: other })])).toMatchObject({
      capacity: sums,
      allocatable: sums,
    });
  });
  it("accepts a cluster without nodes and a node without status", () => {
    expect(sumNodes([]).capacity).toEqual({ cpu: "0", memory: "0", pods: "0" });
    expect(sumNodes([{ apiVersion: "v1", kind: "Node", metadata: {} }]).nodes).toEqual({ ready: 0, total: 1 });
  });
  const gpus: Record<string, [amounts: object, gpu: boolean]> = {
    nvidia: [{ "nvidia.com/gpu": "8" }, true],
    amd: [{ "amd.com/gpu": "1" }, true],
    intel: [{ "gpu.intel.com/i915": "1" }, true],
    "a shared GPU": [{ "nvidia.com/gpu-shared": "4" }, true],
    "zero GPUs": [{ "nvidia.com/gpu": "0" }, false],
    "another device": [{ "example.com/fpga": "1" }, false],
  };
  for (const [name, [amounts, gpu]] of Object.entries(gpus)) {
    it(`recognizes GPU resources: ${name}`, () => expect(sumNodes([node({ amounts })]).gpu).toBe(gpu));
  }
});
