import { describe, expect, test } from "vitest";
import { type ControllerFlags, parseControllerFlags } from "../../../lib/controller/flags.ts";

const usual: ControllerFlags = {
  kcpKubeconfig: "kcp.kubeconfig",
  workspace: ["root:production"],
  clusterKubeconfigs: ["east=east.kubeconfig,west=/etc/west.kubeconfig"],
};

test("controller flags that are not given have their defaults", () => {
  expect(parseControllerFlags(usual)).toEqual({
    kcpKubeconfig: "kcp.kubeconfig",
    ignoresHubControllers: false,
    workspaces: ["root:production"],
    clusterKubeconfigs: new Map([
      ["east", "east.kubeconfig"],
      ["west", "/etc/west.kubeconfig"],
    ]),
    crds: [],
    clusterSources: { sources: ["clusterregistration"] },
    metricsPort: 8080,
    healthPort: 8081,
    logLevel: 2,
    resyncSeconds: 30,
    workers: 5,
    syncWorkers: 32,
    tenantEventsPerSecond: 0,
    heartbeatSeconds: 30,
    deletionGuard: { maxCopies: 100, maxPercent: 30, alwaysAllowed: 10 },
    allowedEndpoints: [],
    allowPrivateEndpoints: false,
  });
});

const valid: Record<string, { flags: ControllerFlags; expected: object }> = {
  "no leader election": { flags: {}, expected: { leaderElection: undefined } },
  "a leader election in the cluster of the pod": {
    flags: { leaderElect: true },
    expected: { leaderElection: { name: "tmc-controller", durationSeconds: 15 } },
  },
  "a leader election in another cluster, for one shard": {
    flags: {
      leaderElect: true,
      leaderElectKubeconfig: "host.kubeconfig",
      leaderElectResourceNamespace: "tmc-system",
      leaderElectLeaseDuration: "30s",
      clusterShardId: "1/3",
    },
    expected: {
      leaderElection: {
        kubeconfig: "host.kubeconfig",
        namespace: "tmc-system",
        name: "tmc-controller-1",
        durationSeconds: 30,
      },
    },
  },
  "durations of several parts": {
    flags: { resyncPeriod: "1h30m", heartbeatInterval: "1.5m" },
    expected: { resyncSeconds: 5400, heartbeatSeconds: 90 },
  },
  "limits of the deletion guard": {
    flags: { maxDeletions: "500", maxDeletionsPercent: "100" },
    expected: { deletionGuard: { maxCopies: 500, maxPercent: 100, alwaysAllowed: 10 } },
  },
  "workspaces repeated and comma-separated, without duplicates": {
    flags: { workspace: ["root:a, root:b", "root:b", "2x7kq1"], clusterKubeconfigs: ["none"] },
    expected: { workspaces: ["root:a", "root:b", "2x7kq1"] },
  },
  "a plain Kubernetes cluster without workspaces": {
    flags: { hub: "kubernetes", workspace: [] },
    expected: { workspaces: undefined },
  },
  "an export, whose tenants bring their own credentials": {
    flags: { apiExport: "root:org:tmc:tmc.kcp.io", workspace: undefined, clusterKubeconfigs: undefined },
    expected: {
      workspaces: undefined,
      apiExport: { path: "root:org:tmc", name: "tmc.kcp.io" },
      clusterKubeconfigs: new Map(),
    },
  },
  "no kubeconfigs if registrations name secrets": {
    flags: { clusterKubeconfigs: ["none"] },
    expected: { clusterKubeconfigs: new Map() },
  },
  "clusters of other kinds": {
    flags: { clusterSource: ["clusterregistration,synctarget"] },
    expected: { clusterSources: { sources: ["clusterregistration", "synctarget"] } },
  },
  "one of three shards": {
    flags: { clusterShardId: "1/3" },
    expected: { clusterSources: { shard: { id: "1", shards: ["0", "1", "2"] } } },
  },
  "a secret template instead of kubeconfigs": {
    flags: { clusterKubeconfigs: undefined, clusterKubeconfigSecretTemplate: "clusters/{name}-kubeconfig" },
    expected: {
      clusterKubeconfigs: new Map(),
      clusterSources: { template: { namespace: "clusters", name: "{name}-kubeconfig", key: "kubeconfig" } },
    },
  },
  "a secret template for all tenants of an export": {
    flags: {
      apiExport: "root:tmc:tmc.kcp.io",
      workspace: undefined,
      clusterKubeconfigs: undefined,
      clusterKubeconfigSecretTemplate: "clusters/{name}-kubeconfig",
    },
    expected: { clusterSources: { sources: ["clusterregistration"] } },
  },
  "limits per tenant": {
    flags: { tenantConcurrency: "2", tenantShare: "25", tenantEventsPerSecond: "50" },
    expected: { tenantConcurrency: 2, tenantShare: 0.25, tenantEventsPerSecond: 50 },
  },
  "an SQS queue, with the default rate limit per tenant": {
    flags: { queueUrl: "https://sqs.example/1/work.fifo" },
    expected: { tenantConcurrency: undefined, tenantEventsPerSecond: 100 },
  },
  "an SQS queue without a rate limit per tenant": {
    flags: { queueUrl: "https://sqs.example/1/work.fifo", tenantEventsPerSecond: "0" },
    expected: { tenantEventsPerSecond: 0 },
  },
  "port 0 for both ports": {
    flags: { metricsPort: "0", healthPort: "0" },
    expected: { metricsPort: 0, healthPort: 0 },
  },
  "kubeconfigs by workspace and name": {
    flags: { workspace: ["root:a,2x7kq1"], clusterKubeconfigs: ["root:a/east=a.yaml, 2x7kq1/east=b.yaml"] },
    expected: {
      clusterKubeconfigs: new Map([
        ["root:a/east", "a.yaml"],
        ["2x7kq1/east", "b.yaml"],
      ]),
    },
  },
  "address ranges for tenants, repeated and comma-separated": {
    flags: { allowEndpoints: ["10.20.0.0/16, fd12::/32", "192.168.7.0/24"] },
    expected: { allowedEndpoints: ["10.20.0.0/16", "fd12::/32", "192.168.7.0/24"] },
  },
  "a kubeconfig path that contains an equals sign": {
    flags: { clusterKubeconfigs: ["east=/a=b"] },
    expected: { clusterKubeconfigs: new Map([["east", "/a=b"]]) },
  },
};
test.each(Object.entries(valid))("controller flags accept %s", (_name, { flags, expected }) => {
  expect(parseControllerFlags({ ...usual, ...flags })).toMatchObject(expected);
});

const invalid: Record<string, { flags: ControllerFlags; message: string }> = {
  "an id of the hub with other characters": { flags: { hubId: "My Hub" }, message: '--hub-id "My Hub" is not 1 to 63' },
  "a missing kubeconfig for kcp": { flags: { kcpKubeconfig: undefined }, message: "--kcp-kubeconfig is missing" },
  "a missing workspace": { flags: { workspace: undefined }, message: "--workspace is missing" },
  "missing kubeconfigs for clusters": {
    flags: { clusterKubeconfigs: undefined },
    message: "--cluster-kubeconfigs is missing",
  },
  "an empty list of kubeconfigs": { flags: { clusterKubeconfigs: [""] }, message: "--cluster-kubeconfigs is missing" },
  "a kubeconfig without a path": {
    flags: { clusterKubeconfigs: ["east"] },
    message: '--cluster-kubeconfigs "east" is not name=path',
  },
  "a kubeconfig path in place of a name": {
    flags: { clusterKubeconfigs: ["./east.kubeconfig=x"] },
    message: '--cluster-kubeconfigs "./east.kubeconfig" is not the name of a cluster',
  },
  "a kubeconfig by name alone with several workspaces, each of which could register that name": {
    flags: { workspace: ["root:a,root:b"], clusterKubeconfigs: ["east=a"] },
    message:
      '--cluster-kubeconfigs "east" is by name, and each workspace can register that name: write root:a/east=path',
  },
  "a kubeconfig of a workspace that is not served": {
    flags: { clusterKubeconfigs: ["root:other/east=a"] },
    message: '--cluster-kubeconfigs "root:other/east": "root:other" is not one of --workspace',
  },
  "a kubeconfig of a workspace with a plain Kubernetes cluster": {
    flags: { hub: "kubernetes", workspace: [], clusterKubeconfigs: ["root:a/east=a"] },
    message: '--cluster-kubeconfigs "root:a/east": "root:a" is not one of --workspace',
  },
  "address ranges that are not CIDRs": {
    flags: { allowEndpoints: ["10.20.0.0/16,10.0.0.0/99"] },
    message: '--allow-endpoints "10.0.0.0/99": not a CIDR like 10.0.0.0/8',
  },
  "a cluster given twice": {
    flags: { clusterKubeconfigs: ["east=a,east=b"] },
    message: '--cluster-kubeconfigs "east" is given twice',
  },
  "an invalid workspace path": {
    flags: { workspace: ["/clusters/root"] },
    message: '--workspace "/clusters/root" is not a path like root:org:team',
  },
  "workspaces with a plain Kubernetes cluster": { flags: { hub: "kubernetes" }, message: "--workspace requires kcp" },
  "an export without a workspace": {
    flags: { apiExport: "tmc.kcp.io", workspace: undefined },
    message: '--api-export "tmc.kcp.io" is not a workspace and the export in it, like root:tmc:tmc.kcp.io',
  },
  "an export and workspaces": {
    flags: { apiExport: "root:tmc:tmc.kcp.io" },
    message: "--api-export replaces --workspace: set only one of them",
  },
  "an export with a plain Kubernetes cluster": {
    flags: { apiExport: "root:tmc:tmc.kcp.io", hub: "kubernetes", workspace: undefined },
    message: "--api-export requires kcp: a plain cluster has no exports",
  },
  "kubeconfigs by name with an export": {
    flags: { apiExport: "root:tmc:tmc.kcp.io", workspace: undefined },
    message:
      "--cluster-kubeconfigs is by name, and every tenant can choose that name: with --api-export it must be none",
  },
  "an unknown cluster source": {
    flags: { clusterSource: ["synctargets"] },
    message:
      '--cluster-source "synctargets" is not one of clusterregistration, synctarget, controlplaneendpoint, controlplaneregistration',
  },
  "a namespace scope for cluster-scoped kinds": {
    flags: { clusterNamespaceScope: ["team-a"] },
    message: "--cluster-namespace-scope has no effect on clusterregistration: these kinds are cluster-scoped",
  },
  "clusters of other kinds with an export": {
    flags: {
      apiExport: "root:tmc:tmc.kcp.io",
      workspace: undefined,
      clusterKubeconfigs: undefined,
      clusterSource: ["synctarget"],
    },
    message:
      "--cluster-source: an export shows only its own kinds; with --api-export omit it or set clusterregistration",
  },
  "clusters of other kinds with a shared queue": {
    flags: { clusterSource: ["synctarget"], queueUrl: "https://sqs.eu-west-1.amazonaws.com/123456789012/work.fifo" },
    message:
      "--cluster-source: cluster status is kept in the memory of one process; with --queue-url omit it or set clusterregistration",
  },
  "clusters of other kinds with a shard": {
    flags: { clusterSource: ["synctarget"], clusterShardId: "1/3" },
    message:
      "--cluster-source: cluster status is kept in the memory of one process; with --cluster-shard-id omit it or set clusterregistration",
  },
  "a secret template together with kubeconfigs": {
    flags: { clusterKubeconfigSecretTemplate: "clusters/{name}-kubeconfig" },
    message: "--cluster-kubeconfigs has no effect with --cluster-kubeconfig-secret-template: set only one of them",
  },
  "a secret template without {name}": {
    flags: { clusterKubeconfigs: undefined, clusterKubeconfigSecretTemplate: "clusters/kubeconfig" },
    message:
      '--cluster-kubeconfig-secret-template "clusters/kubeconfig": {name} is missing: all clusters would use the same secret',
  },
  "a shard id beyond the number of shards": {
    flags: { clusterShardId: "3/3" },
    message: '--cluster-shard-id "3" is not one of 0 to 2',
  },
  "a kubeconfig for a leader election that is off": {
    flags: { leaderElectKubeconfig: "host.kubeconfig" },
    message: "--leader-elect-kubeconfig requires --leader-elect",
  },
  "a leader election of controllers that share a queue": {
    flags: { leaderElect: true, queueUrl: "https://sqs.example/1/work.fifo" },
    message: "--leader-elect has no use with --queue-url",
  },
  "a Lease that must be renewed all the time": {
    flags: { leaderElect: true, leaderElectLeaseDuration: "1s" },
    message: '--leader-elect-lease-duration "1s" is not between 3s and 1h',
  },
  "a name of a Lease that is none": {
    flags: { leaderElect: true, leaderElectResourceName: "TMC" },
    message: '--leader-elect-resource-name "TMC" is not a name like tmc-controller',
  },
  "an unknown hub": { flags: { hub: "etcd" }, message: '--hub "etcd" is not kcp or kubernetes' },
  "an unknown mode for the controllers of the hub": {
    flags: { hub: "kubernetes", workspace: [], hubControllers: "off" },
    message: '--hub-controllers "off" is not detect or ignore',
  },
  "controllers of the hub with kcp": {
    flags: { hubControllers: "ignore" },
    message: "--hub-controllers has no effect without --hub kubernetes: kcp runs no workloads",
  },
  "a duration without a unit": {
    flags: { resyncPeriod: "30" },
    message: '--resync-period "30" is not a duration like 30s, 5m or 1h30m',
  },
  "a duration that is too short": {
    flags: { heartbeatInterval: "10ms" },
    message: '--heartbeat-interval "10ms" is not between 1s and 24h',
  },
  "a deletion limit that is not a number": {
    flags: { maxDeletions: "all" },
    message: '--max-deletions "all" is not a whole number from 0 to 1000000',
  },
  "a deletion limit over 100 percent": {
    flags: { maxDeletionsPercent: "101" },
    message: '--max-deletions-percent "101" is not a whole number from 0 to 100',
  },
  "a worker count that is not a number": {
    flags: { workerCount: "many" },
    message: '--worker-count "many" is not a whole number from 1 to 100',
  },
  "a tenant concurrency of 0": {
    flags: { tenantConcurrency: "0" },
    message: '--tenant-concurrency "0" is not a whole number from 1 to 100',
  },
  "a tenant concurrency with an SQS queue": {
    flags: { tenantConcurrency: "2", queueUrl: "https://sqs.example/1/work.fifo" },
    message: "--tenant-concurrency requires a queue in memory",
  },
  "a tenant share over 100 percent": {
    flags: { tenantShare: "101" },
    message: '--tenant-share "101" is not a whole number from 1 to 100',
  },
  "a tenant rate that is not a number": {
    flags: { tenantEventsPerSecond: "fast" },
    message: '--tenant-events-per-second "fast" is not a whole number from 0 to 100000',
  },
  "a sync worker count of 0": {
    flags: { syncWorkerCount: "0" },
    message: '--sync-worker-count "0" is not a whole number from 1 to 1000',
  },
  "a worker count of 0": {
    flags: { workerCount: "0" },
    message: '--worker-count "0" is not a whole number from 1 to 100',
  },
  "a port over 65535": {
    flags: { metricsPort: "70000" },
    message: '--metrics-port "70000" is not a whole number from 0 to 65535',
  },
  "the same port for metrics and health": {
    flags: { metricsPort: "9000", healthPort: "9000" },
    message: "--health-port 9000 is also --metrics-port",
  },
  "a log level that is not a number": {
    flags: { logLevel: "debug" },
    message: '--log-level "debug" is not a whole number from 0 to 10',
  },
};
describe("parseControllerFlags", () => {
  test.each(Object.entries(invalid))("controller flags reject %s", (_name, { flags, message }) => {
    expect(() => parseControllerFlags({ ...usual, ...flags })).toThrow(message);
  });

  test("controller flags report all errors in one line", () => {
    const all = { workspace: ["Nope"], workerCount: "x", logLevel: "99", resyncPeriod: "soon" };
    try {
      parseControllerFlags(all);
      expect.unreachable();
    } catch (error) {
      const text = error instanceof Error ? error.message : "";
      expect(text.match(/--[a-z-]+/g)).toEqual([
        "--kcp-kubeconfig",
        "--workspace",
        "--cluster-kubeconfigs",
        "--log-level",
        "--resync-period",
        "--worker-count",
      ]);
      expect(text).not.toContain("\n");
    }
  });
});
