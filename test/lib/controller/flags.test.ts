import { describe, expect, test } from "vitest";
import { type ControllerFlags, parseControllerFlags } from "../../../lib/controller/flags.ts";

const usual: ControllerFlags = {
  kcpKubeconfig: "kcp.kubeconfig",
  workspace: ["root:production"],
  clusterKubeconfigs: ["east=east.kubeconfig,west=/etc/west.kubeconfig"],
};

test("what is not given has its default", () => {
  expect(parseControllerFlags(usual)).toEqual({
    kcpKubeconfig: "kcp.kubeconfig",
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
    brake: { maxCopies: 100, maxPercent: 30, alwaysAllowed: 10 },
    allowPrivateEndpoints: false,
  });
});

const right: Record<string, { flags: ControllerFlags; gives: object }> = {
  "durations of several parts": {
    flags: { resyncPeriod: "1h30m", heartbeatInterval: "1.5m" },
    gives: { resyncSeconds: 5400, heartbeatSeconds: 90 },
  },
  "limits to what leaves at once": {
    flags: { maxDeletions: "500", maxDeletionsPercent: "100" },
    gives: { brake: { maxCopies: 500, maxPercent: 100, alwaysAllowed: 10 } },
  },
  "workspaces given several times and with commas, each once": {
    flags: { workspace: ["root:a, root:b", "root:b", "2x7kq1"] },
    gives: { workspaces: ["root:a", "root:b", "2x7kq1"] },
  },
  "a plain Kubernetes hub, which has no workspaces": {
    flags: { hub: "kubernetes", workspace: [] },
    gives: { workspaces: undefined },
  },
  "an export, whose tenants bring their own credentials": {
    flags: { apiExport: "root:org:tmc:tmc.kcp.io", workspace: undefined, clusterKubeconfigs: undefined },
    gives: {
      workspaces: undefined,
      apiExport: { path: "root:org:tmc", name: "tmc.kcp.io" },
      clusterKubeconfigs: new Map(),
    },
  },
  "no kubeconfigs, where registrations name secrets": {
    flags: { clusterKubeconfigs: ["none"] },
    gives: { clusterKubeconfigs: new Map() },
  },
  "other kinds that make clusters known": {
    flags: { clusterSource: ["clusterregistration,synctarget"] },
    gives: { clusterSources: { sources: ["clusterregistration", "synctarget"] } },
  },
  "one of three parts": {
    flags: { clusterShardId: "1/3" },
    gives: { clusterSources: { shard: { id: "1", shards: ["0", "1", "2"] } } },
  },
  "a template for secrets, in place of kubeconfigs": {
    flags: { clusterKubeconfigs: undefined, clusterKubeconfigSecretTemplate: "clusters/{name}-kubeconfig" },
    gives: {
      clusterKubeconfigs: new Map(),
      clusterSources: { template: { namespace: "clusters", name: "{name}-kubeconfig", key: "kubeconfig" } },
    },
  },
  "a template for all tenants of an export": {
    flags: {
      apiExport: "root:tmc:tmc.kcp.io",
      workspace: undefined,
      clusterKubeconfigs: undefined,
      clusterKubeconfigSecretTemplate: "clusters/{name}-kubeconfig",
    },
    gives: { clusterSources: { sources: ["clusterregistration"] } },
  },
  "shares of tenants": {
    flags: { tenantConcurrency: "2", tenantShare: "25", tenantEventsPerSecond: "50" },
    gives: { tenantConcurrency: 2, tenantShare: 0.25, tenantEventsPerSecond: 50 },
  },
  "the usual share of a queue that knows of no tenants": {
    flags: { queueUrl: "https://sqs.example/1/work.fifo" },
    gives: { tenantConcurrency: undefined, tenantEventsPerSecond: 100 },
  },
  "no share in such a queue": {
    flags: { queueUrl: "https://sqs.example/1/work.fifo", tenantEventsPerSecond: "0" },
    gives: { tenantEventsPerSecond: 0 },
  },
  "free ports": { flags: { metricsPort: "0", healthPort: "0" }, gives: { metricsPort: 0, healthPort: 0 } },
  "a path with an equals sign in it": {
    flags: { clusterKubeconfigs: ["east=/a=b"] },
    gives: { clusterKubeconfigs: new Map([["east", "/a=b"]]) },
  },
};
test.each(Object.entries(right))("taken: %s", (_name, { flags, gives }) => {
  expect(parseControllerFlags({ ...usual, ...flags })).toMatchObject(gives);
});

const wrong: Record<string, { flags: ControllerFlags; says: string }> = {
  "no kubeconfig for kcp": { flags: { kcpKubeconfig: undefined }, says: "--kcp-kubeconfig is missing" },
  "no workspace": { flags: { workspace: undefined }, says: "--workspace is missing" },
  "no kubeconfigs for clusters": { flags: { clusterKubeconfigs: undefined }, says: "--cluster-kubeconfigs is missing" },
  "an empty list of clusters": { flags: { clusterKubeconfigs: [""] }, says: "--cluster-kubeconfigs is missing" },
  "a cluster without a path": {
    flags: { clusterKubeconfigs: ["east"] },
    says: '--cluster-kubeconfigs "east" is not name=path',
  },
  "a path where a name belongs": {
    flags: { clusterKubeconfigs: ["./east.kubeconfig=x"] },
    says: '--cluster-kubeconfigs "./east.kubeconfig" is not the name of a cluster',
  },
  "a cluster given twice": {
    flags: { clusterKubeconfigs: ["east=a,east=b"] },
    says: '--cluster-kubeconfigs "east" is given twice',
  },
  "a workspace that is no path": {
    flags: { workspace: ["/clusters/root"] },
    says: '--workspace "/clusters/root" is not a path like root:org:team',
  },
  "a workspace for a plain hub": { flags: { hub: "kubernetes" }, says: "--workspace is for kcp" },
  "an export without a workspace": {
    flags: { apiExport: "tmc.kcp.io", workspace: undefined },
    says: '--api-export "tmc.kcp.io" is not a workspace and the export in it, like root:tmc:tmc.kcp.io',
  },
  "an export and workspaces": {
    flags: { apiExport: "root:tmc:tmc.kcp.io" },
    says: "--api-export takes the place of --workspace: leave one out",
  },
  "an export of a plain hub": {
    flags: { apiExport: "root:tmc:tmc.kcp.io", hub: "kubernetes", workspace: undefined },
    says: "--api-export is for kcp: a plain Kubernetes hub has no exports",
  },
  "kubeconfigs by name for all tenants": {
    flags: { apiExport: "root:tmc:tmc.kcp.io", workspace: undefined },
    says: "--cluster-kubeconfigs goes by names that every tenant can take: with --api-export it is none",
  },
  "a source that is none": {
    flags: { clusterSource: ["synctargets"] },
    says: '--cluster-source "synctargets" is not one of clusterregistration, synctarget, controlplaneendpoint, controlplaneregistration',
  },
  "namespaces for kinds without": {
    flags: { clusterNamespaceScope: ["team-a"] },
    says: "--cluster-namespace-scope has no meaning for clusterregistration: they live in no namespace",
  },
  "other kinds through an export": {
    flags: {
      apiExport: "root:tmc:tmc.kcp.io",
      workspace: undefined,
      clusterKubeconfigs: undefined,
      clusterSource: ["synctarget"],
    },
    says: "--cluster-source: an export shows no kinds but its own; with --api-export leave it out, or let it be clusterregistration",
  },
  "other kinds with a shared queue": {
    flags: { clusterSource: ["synctarget"], queueUrl: "https://sqs.eu-west-1.amazonaws.com/123456789012/work.fifo" },
    says: "--cluster-source: what is found out stays in one process; with --queue-url leave it out, or let it be clusterregistration",
  },
  "other kinds, and a part of them": {
    flags: { clusterSource: ["synctarget"], clusterShardId: "1/3" },
    says: "--cluster-source: what is found out stays in one process; with --cluster-shard-id leave it out, or let it be clusterregistration",
  },
  "a template and kubeconfigs": {
    flags: { clusterKubeconfigSecretTemplate: "clusters/{name}-kubeconfig" },
    says: "--cluster-kubeconfigs has no meaning beside --cluster-kubeconfig-secret-template: leave one out",
  },
  "a template that all clusters would share": {
    flags: { clusterKubeconfigs: undefined, clusterKubeconfigSecretTemplate: "clusters/kubeconfig" },
    says: '--cluster-kubeconfig-secret-template "clusters/kubeconfig": {name} is missing: all clusters would share one secret',
  },
  "a shard that is not among them": {
    flags: { clusterShardId: "3/3" },
    says: '--cluster-shard-id "3" is not one of 0 to 2',
  },
  "an unknown hub": { flags: { hub: "etcd" }, says: '--hub "etcd" is not kcp or kubernetes' },
  "a number for a duration": {
    flags: { resyncPeriod: "30" },
    says: '--resync-period "30" is not a duration like 30s, 5m or 1h30m',
  },
  "a duration that is too short": {
    flags: { heartbeatInterval: "10ms" },
    says: '--heartbeat-interval "10ms" is not between 1s and 24h',
  },
  "a limit that is no number": {
    flags: { maxDeletions: "all" },
    says: '--max-deletions "all" is not a whole number from 0 to 1000000',
  },
  "a share of more than all": {
    flags: { maxDeletionsPercent: "101" },
    says: '--max-deletions-percent "101" is not a whole number from 0 to 100',
  },
  "a count that is no number": {
    flags: { workerCount: "many" },
    says: '--worker-count "many" is not a whole number from 1 to 100',
  },
  "a share of no worker": {
    flags: { tenantConcurrency: "0" },
    says: '--tenant-concurrency "0" is not a whole number from 1 to 100',
  },
  "a share of the workers on a queue that knows of no tenants": {
    flags: { tenantConcurrency: "2", queueUrl: "https://sqs.example/1/work.fifo" },
    says: "--tenant-concurrency is for a queue in memory",
  },
  "a share of more than everything": {
    flags: { tenantShare: "101" },
    says: '--tenant-share "101" is not a whole number from 1 to 100',
  },
  "a rate that is no number": {
    flags: { tenantEventsPerSecond: "fast" },
    says: '--tenant-events-per-second "fast" is not a whole number from 0 to 100000',
  },
  "no workers for workloads": {
    flags: { syncWorkerCount: "0" },
    says: '--sync-worker-count "0" is not a whole number from 1 to 1000',
  },
  "no workers": { flags: { workerCount: "0" }, says: '--worker-count "0" is not a whole number from 1 to 100' },
  "a port that is none": {
    flags: { metricsPort: "70000" },
    says: '--metrics-port "70000" is not a whole number from 0 to 65535',
  },
  "one port for both": {
    flags: { metricsPort: "9000", healthPort: "9000" },
    says: "--health-port 9000 is taken by --metrics-port",
  },
  "a log level that is a word": {
    flags: { logLevel: "debug" },
    says: '--log-level "debug" is not a whole number from 0 to 10',
  },
};
describe("refused, with the form that is right", () => {
  test.each(Object.entries(wrong))("%s", (_name, { flags, says }) => {
    expect(() => parseControllerFlags({ ...usual, ...flags })).toThrow(says);
  });

  test("all at once, in one line", () => {
    const all = { workspace: ["Nope"], workerCount: "x", logLevel: "99", resyncPeriod: "soon" };
    try {
      parseControllerFlags(all);
      expect.unreachable();
    } catch (error) {
      const message = error instanceof Error ? error.message : "";
      expect(message.match(/--[a-z-]+/g)).toEqual([
        "--kcp-kubeconfig",
        "--workspace",
        "--cluster-kubeconfigs",
        "--log-level",
        "--resync-period",
        "--worker-count",
      ]);
      expect(message).not.toContain("\n");
    }
  });
});
