import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceAccounts } from "../../lib/api/export-access.ts";
import { exportName, exportWorkspace } from "../../lib/api/group.ts";
import { reconciledTypes } from "../../lib/upstream/watched-resources.ts";
import { eventuallyGone, namespaces, tokenOfNewAccount } from "../contract/resources.ts";
import { eventually } from "../support/eventually.ts";
import { createQueues, startSqs } from "../support/sqs.ts";
import { type Attempts, readAttempts, tryAll, writeAttempts } from "./attempts.ts";
import type { AuditedRequest } from "./audit-log.ts";
import { isOurs, judgeAudit, type Rest } from "./audit-violations.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import { type IsolationEnvironment, startIsolationEnvironment, type Team } from "./isolation-environment.ts";
import { startLocalRelay } from "./local-relay.ts";

const waitMs = 90_000;
/** Nothing has happened for so long: what was caused has been done. */
const quietMs = 2_000;
const apiExport = `${exportWorkspace}:${exportName}`;

/** Holds what kcp itself has written down of a whole day of two tenants against the rules of their isolation. */
describe("isolation, by kcp's own audit log", { timeout: 240_000 }, () => {
  let stage: IsolationEnvironment;
  const ends: (() => Promise<unknown>)[] = [];
  const rests: Rest[] = [];

  /** Starts a worker as its service account; it runs no schedule, so that every request is caused by a tenant. */
  const startWorker = async (flags: readonly string[] = [], env = {}): Promise<ControllerProcess> => {
    const worker = await startController(
      stage.folder,
      [
        `--kcp-kubeconfig=${join(stage.folder, "worker.kubeconfig")}`,
        `--api-export=${apiExport}`,
        "--allow-private-endpoints",
        "--heartbeat-interval=1h",
        "--resync-period=1h",
        ...flags,
      ],
      env,
    );
    ends.push(() => worker.kill());
    await worker.untilReady(waitMs);
    return worker;
  };
  const oursIn = (requests: readonly AuditedRequest[], cluster: string): readonly AuditedRequest[] =>
    requests.filter((request) => request.cluster === cluster && isOurs(request, stage.who));
  const untilQuiet = (...teams: readonly Team[]): Promise<void> =>
    eventually(async () => {
      const requests = await stage.audit();
      const lastMs = Math.max(...teams.flatMap(({ cluster }) => oursIn(requests, cluster).map(({ atMs }) => atMs)));
      return Date.now() - lastMs > quietMs ? undefined : "there still are requests of ours";
    }, waitMs);

  beforeAll(async () => {
    stage = await startIsolationEnvironment(waitMs);
  }, 240_000);
  afterAll(async () => {
    for (const end of ends.toReversed()) await end();
    await stage?.stop();
  }, 60_000);

  /** A tenant's day: registers a cluster, places work, changes both and takes them back. Some names are those of the other. */
  const work = async ({ user, tenant, client, kubeconfig }: Team, day: string): Promise<void> => {
    const [secret, cluster, placement, common] = [`${user}-key-${day}`, `${user}-${day}`, `${user}-web-${day}`, "web"];
    const credentials = { secretRef: { namespace: "default", name: secret } };
    await tenant.offerSecret(secret, kubeconfig);
    await tenant.register(cluster, { location: "us-east-1", credentials });
    for (const name of [placement, common]) await tenant.place(name);
    await tenant.untilCluster(cluster, "True ClusterReady");
    await tenant.untilDecided([placement, common]);
    await tenant.label(cluster, { day });
    const type = reconciledTypes.WorkloadPlacement;
    await client.patch({ type, name: common }, { type: "merge", body: { spec: { strategy: "Spread" } } });
    for (const seen of await tenant.untilDecided([placement, common])) {
      expect(seen.status?.selectedClusters?.filter((name) => !name.startsWith(`${user}-`))).toEqual([]);
    }
    await tenant.remove("placement", common);
    await tenant.remove("cluster", cluster);
    await eventuallyGone(client, { type: reconciledTypes.ClusterRegistration, name: cluster }, waitMs);
    await eventuallyGone(client, { type, name: common }, waitMs);
  };
  /** Both work at once; then one alone, while the other, who has much, rests. */
  const liveThrough = async (day: string): Promise<void> => {
    const { ants, bees } = stage;
    await Promise.all([ants, bees].map((team) => work(team, day)));
    await untilQuiet(ants, bees);
    const fromMs = Date.now();
    await work(ants, `${day}-alone`);
    await untilQuiet(ants);
    const rest = { cluster: bees.cluster, fromMs, toMs: Date.now() };
    rests.push(rest);
    const during = (requests: readonly AuditedRequest[]): readonly AuditedRequest[] =>
      requests.filter(({ atMs }) => rest.fromMs <= atMs && atMs <= rest.toMs);
    const requests = during(await stage.audit());
    expect(oursIn(requests, ants.cluster).length).toBeGreaterThan(5);
    expect(oursIn(requests, bees.cluster)).toEqual([]);
    expect(visitors(during(await ants.clusterAudit()))).toEqual(["tmc-of-ants"]);
    expect(visitors(during(await bees.clusterAudit()))).toEqual([]);
  };

  it("serves two tenants with the worker's account, isolated from each other", async () => {
    const worker = await startWorker();
    for (const { user, tenant, kubeconfig } of [stage.ants, stage.bees]) {
      await tenant.offerSecret(`${user}-key`, kubeconfig);
      const credentials = { secretRef: { namespace: "default", name: `${user}-key` } };
      await tenant.register(`${user}-kept`, { location: "us-east-1", credentials });
      await tenant.place(`${user}-web`);
      await tenant.untilCluster(`${user}-kept`, "True ClusterReady");
      await tenant.untilChosen(`${user}-web`, [`${user}-kept`]);
    }
    await liveThrough("monday");
    await worker.kill();
  });

  it("serves both tenants through a queue that a relay fills with the relay's account", async () => {
    const { sqs, endpoint, stop } = await startSqs();
    ends.push(stop);
    const { urls } = await createQueues(sqs);
    // The emulator's queue URLs have a host name that DNS does not resolve.
    const at = (url: string): string => new URL(new URL(url).pathname, endpoint).href;
    const relay = startLocalRelay({
      kubeconfig: join(stage.folder, "relay.kubeconfig"),
      apiExport,
      sqs,
      workQueueUrl: urls.work,
    });
    ends.push(() => relay.stop());
    await eventually(async () => (relay.hasBegun() ? undefined : relay.output()), waitMs);
    await startWorker(
      [
        `--queue-url=${at(urls.work)}`,
        `--delay-queue-url=${at(urls.delay)}`,
        `--dead-letters-url=${at(urls.deadLetters)}`,
      ],
      {
        AWS_ENDPOINT_URL_SQS: endpoint,
        AWS_REGION: "us-east-1",
        AWS_ACCESS_KEY_ID: "test",
        AWS_SECRET_ACCESS_KEY: "test",
      },
    );
    await liveThrough("tuesday");
    expect(await relay.stop()).toBe(0);
  });

  it("reveals nothing of one tenant to the other", async () => {
    for (const [{ tenant, user }, other] of [
      [stage.ants, "bees"],
      [stage.bees, "ants"],
    ] as const) {
      const objects = [...(await tenant.clusters()), ...(await tenant.placements())];
      expect(objects.length).toBeGreaterThanOrEqual(4);
      expect(JSON.stringify(objects)).toContain(user);
      expect(JSON.stringify(objects)).not.toContain(other);
    }
  });

  it("sends each tenant's credentials only to that tenant's cluster", async () => {
    for (const { user, clusterAudit } of [stage.ants, stage.bees]) {
      expect(visitors(await clusterAudit())).toEqual([`tmc-of-${user}`]);
    }
  });

  it("grants nothing to a neighbor tenant, an outsider, or an account with the worker's name", async () => {
    const { ants, bees, viewPath, who, as, outsiderToken } = stage;
    const accounts = Object.values(serviceAccounts);
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "tmc-system" } };
    await ants.client.create({ type: namespaces }, namespace);
    const namesakes = [];
    for (const name of accounts) namesakes.push(as(await tokenOfNewAccount(ants.client, "tmc-system", name)));
    const ofBees = {
      ...readAttempts(`/clusters/${bees.cluster}`, "bees-kept"),
      ...readAttempts(`/clusters/${bees.path}`, "bees-kept"),
    };
    const ofTheExport: Attempts = {
      ...readAttempts(`${viewPath}/clusters/*`, "bees-kept"),
      ...readAttempts(`${viewPath}/clusters/${bees.cluster}`, "bees-kept"),
      ...readAttempts(`${viewPath}/clusters/${ants.cluster}`, "ants-kept"),
      ...readAttempts(`/clusters/${who.provider}`, "east"),
    };
    const changes = {
      ...writeAttempts(`/clusters/${bees.cluster}`, "bees-kept"),
      ...writeAttempts(`${viewPath}/clusters/${bees.cluster}`, "bees-kept"),
    };
    for (const client of [ants.client, as(outsiderToken), ...namesakes]) {
      const ended = await tryAll(client, { ...ofBees, ...ofTheExport, ...changes });
      expect(Object.keys(ended), JSON.stringify({ ...ended, 403: [] })).toEqual(["403"]);
    }
    expect(judgeAudit(await stage.audit(), { ...who, rests })).toEqual([]);
  });

  it("finds no violation in the whole audit log, in which every account appears", async () => {
    const requests = await stage.audit();
    const { who, ants, bees } = stage;
    const countOf = (user: string, home?: string): number =>
      requests.filter((request) => request.user === user && request.home === home).length;
    expect(judgeAudit(requests, { ...who, rests })).toEqual([]);
    for (const { cluster } of [ants, bees]) expect(oursIn(requests, cluster).length).toBeGreaterThan(20);
    for (const user of [who.outsider, ants.user, bees.user]) expect(countOf(user)).toBeGreaterThan(20);
    for (const { user, home } of [who.relay, who.worker]) {
      expect(countOf(user, home)).toBeGreaterThan(5);
      expect(countOf(user, ants.cluster)).toBeGreaterThan(20);
    }
  });

  it("rejects every request of the relay's account except list and watch", async () => {
    const text = await readFile(join(stage.folder, "relay.kubeconfig"), "utf8");
    const { endpoint } = parseKubeconfig(text, { allow: "data-only" });
    const { ants, who, viewPath, as } = stage;
    const ended = await tryAll(as((await endpoint.token?.()) ?? ""), {
      ...writeAttempts(`${viewPath}/clusters/${ants.cluster}`, "ants-kept"),
      ...writeAttempts(`/clusters/${ants.cluster}`, "ants-kept"),
      ...writeAttempts(`/clusters/${who.provider}`, exportName),
    });
    expect(Object.keys(ended), JSON.stringify(ended)).toEqual(["403"]);
  });
});

/** Who has asked a cluster, its own parts left out. Credentials that it does not know show as nobody. */
function visitors(requests: readonly AuditedRequest[]): readonly string[] {
  return [...new Set(requests.map(({ user }) => user))].filter(
    (user) => user !== "admin" && !user.startsWith("system:"),
  );
}
