import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { KubeClient } from "@tmc/kube/client.ts";
import { systemClock } from "@tmc/kube/clock.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import { writeKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { exportWorkspace } from "../../lib/api/group.ts";
import { bindExport, findBinding } from "../../lib/install/bind.ts";
import { unbindExport } from "../../lib/install/unbind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { createHealthChecks } from "../../lib/observe/health.ts";
import { createLog } from "../../lib/observe/log.ts";
import { createMetrics } from "../../lib/observe/metrics.ts";
import { createRelayService } from "../../lib/relay/service/relay-service.ts";
import { endpointAt } from "../../lib/upstream/export/endpoints.ts";
import { type ApiBinding, apiBindings } from "../../lib/upstream/kcp-types.ts";
import { tmc } from "../lib/cli/support.ts";
import { eventually } from "../support/eventually.ts";
import { type ControllerProcess, startController } from "./controller-process.ts";
import type { Parts, SuiteSettings } from "./environment.ts";
import { type Tenant, tenantOf } from "./tenant.ts";

const apiExport = `${exportWorkspace}:tmc.kcp.io`;
const credentials = { secretRef: { namespace: "default", name: "kubeconfig" } };

type Team = Readonly<{ path: string; cluster: string; client: KubeClient; tenant: Tenant }>;

/** Holds one controller over all tenants of an export to its promises, as the service account that `tmc bootstrap` makes. */
export function tenantsScenario(
  { kind, testMs, waitMs, startMs }: SuiteSettings,
  startParts: () => Promise<Parts>,
): void {
  describe(`all tenants of an export on ${kind} parts`, { timeout: testMs }, () => {
    let parts: Parts;
    let kcp: KubeClient;
    let folder = "";
    let controller: ControllerProcess;
    const clients: KubeClient[] = [];
    const teams = new Map<string, Team>();

    const open = (endpoint: Endpoint): KubeClient => {
      const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint) });
      clients.push(client);
      return client;
    };
    /** A workspace that has bound the export, with a cluster and a placement that bring their own credentials. */
    const joined = async (name: string): Promise<Team> => {
      const path = `root:${name}`;
      const cluster = await ensureWorkspace(kcp, path);
      const client = kcp.at(`/clusters/${cluster}`);
      await bindExport(client, exportWorkspace);
      const team = { path, cluster, client, tenant: tenantOf(client, waitMs) };
      teams.set(name, team);
      await team.tenant.offerSecret("kubeconfig", await readFile(join(folder, "us-east.kubeconfig"), "utf8"));
      await team.tenant.register("us-east", { location: "us-east-1", credentials });
      await team.tenant.place("web");
      return team;
    };
    const untilServed = async ({ tenant }: Team): Promise<void> => {
      await tenant.untilCluster("us-east", "True ClusterReady");
      await tenant.untilChosen("web", ["us-east"]);
    };
    const team = (name: string): Team => {
      const found = teams.get(name);
      if (found === undefined) throw new Error(`no team ${name}`);
      return found;
    };
    const untilHealthSays = (words: string): Promise<void> =>
      eventually(async () => {
        const { status, text } = await controller.ask("/readyz?verbose");
        return status === 200 && text.includes(words) ? undefined : `/readyz: ${status} ${text}, not ${words}`;
      }, waitMs);

    beforeAll(async () => {
      parts = await startParts();
      folder = await mkdtemp(join(tmpdir(), "tmc-tenants-"));
      const write = async (name: string, { endpoint, token }: Parts["kcp"], path = ""): Promise<string> => {
        const file = join(folder, `${name}.kubeconfig`);
        const to = { ...endpoint, server: `${endpoint.server}${path}` };
        await writeKubeconfig(file, { contexts: [{ name, endpoint: to, token }] });
        return file;
      };
      kcp = open(parts.kcp.endpoint);
      const admin = await write("admin", parts.kcp, "/clusters/root");
      await write("us-east", parts.clusters["us-east"]);
      const { code, err } = await tmc(["bootstrap", "--kubeconfig-dir", folder, "--timeout", "90s"], {
        env: { KUBECONFIG: admin },
      });
      expect({ code, err }).toEqual({ code: 0, err: "" });
      controller = await startController(folder, [
        `--kcp-kubeconfig=${join(folder, "worker.kubeconfig")}`,
        `--api-export=${apiExport}`,
        "--allow-private-endpoints",
        "--heartbeat-interval=1s",
      ]);
    }, startMs);
    afterAll(async () => {
      await controller?.kill();
      await Promise.all(clients.map((client) => client.close()));
      await parts?.stop();
      await rm(folder, { recursive: true, force: true });
    }, startMs);
    afterEach(async ({ task }) => {
      if (task.result?.state !== "fail" || controller === undefined) return;
      process.stderr.write(`${(await controller.output()).split("\n").slice(-25).join("\n")}\n`);
    });

    it("is ready before any workspace binds the export", async () => {
      await controller.untilReady(waitMs);
      expect((await controller.ask("/readyz?verbose")).text).toContain("0 tenants");
    });

    it("serves each bound workspace with only the permissions that the binding grants", async () => {
      for (const name of ["ants", "bees"]) await joined(name);
      for (const name of ["ants", "bees"]) await untilServed(team(name));
      await untilHealthSays("1 endpoint, 2 tenants");
      expect((await controller.ask("/readyz?verbose")).text).toContain("TMCAPIExportConfigured");
    });

    it("serves a workspace that binds while other tenants work", async () => {
      const names = Array.from({ length: 10 }, (_, at) => `busy-${at}`);
      const busy = Promise.all(names.map((name) => team("ants").tenant.place(name)));
      await untilServed(await joined("crickets"));
      await busy;
      await team("ants").tenant.untilDecided(names);
    });

    it("reports the permission claim that is not accepted, and continues once it is", async () => {
      const { client, tenant } = team("bees");
      const found = await findBinding(client, exportWorkspace);
      const name = found?.metadata.name ?? "";
      const accept = async (state: "Accepted" | "Rejected"): Promise<void> => {
        const { spec } = await client.get<ApiBinding>({ type: apiBindings, name });
        const permissionClaims = (spec?.permissionClaims ?? []).map((claim) => ({ ...claim, state }));
        await client.patch({ type: apiBindings, name }, { type: "merge", body: { spec: { permissionClaims } } });
      };
      await accept("Rejected");
      await tenant.register("us-west", { location: "us-west-2", credentials });
      const refused = await tenant.untilCluster("us-west", "False PermissionClaimNotAccepted");
      expect(JSON.stringify(refused.status)).toContain("spec.permissionClaims");
      await accept("Accepted");
      await tenant.untilCluster("us-west", "True ClusterReady");
    });

    it("removes the finalizers of a workspace that unbinds, and serves the others", async () => {
      const { client } = team("ants");
      const binding = await findBinding(client, exportWorkspace);
      if (binding === undefined) throw new Error("ants has no binding");
      await unbindExport(client, { binding, mayDeleteObjects: true }, { timeoutMs: waitMs });
      await untilHealthSays("1 endpoint, 2 tenants");
      await team("bees").tenant.place("after");
      await team("bees").tenant.untilDecided(["after"]);
      expect(controller.ended()).toBeUndefined();
    });

    it("resumes after a kcp outage", async () => {
      await parts.kcp.kill();
      await eventually(async () => {
        const { status } = await controller.ask("/readyz");
        return status === 503 ? undefined : `/readyz answers ${status} while kcp is away`;
      }, waitMs);
      await parts.kcp.revive();
      await untilHealthSays("1 endpoint, 2 tenants");
      await eventually(async () => {
        const placed = await team("bees")
          .tenant.place("later")
          .catch((error: unknown) => String(error));
        return typeof placed === "string" && !placed.includes("already exists") ? placed : undefined;
      }, waitMs);
      await team("bees").tenant.untilDecided(["later"]);
    });

    it("works with a relay whose user may only list and watch", async () => {
      const text = await readFile(join(folder, "relay.kubeconfig"), "utf8");
      const { endpoint } = parseKubeconfig(text, { allow: "data-only" });
      const sent = new Set<string>();
      const health = createHealthChecks({ clock: systemClock });
      const service = createRelayService({
        client: open(endpoint),
        workspaces: undefined,
        apiExport: {
          address: { path: exportWorkspace, name: "tmc.kcp.io" },
          openEndpoint: (url) => open(endpointAt(endpoint, url)),
        },
        queue: {
          send: async (items) => {
            for (const { key } of items) sent.add(`${key.logicalCluster} ${key.name}`);
          },
        },
        clock: systemClock,
        random: Math.random,
        log: createLog({ level: 0, write: () => {}, clock: systemClock }),
        metrics: createMetrics(),
        health,
      });
      await service.start();
      await eventually(async () => {
        const missing = ["bees", "crickets"].filter((name) => !sent.has(`${team(name).cluster} web`));
        return missing.length === 0 ? undefined : `nothing of ${missing.join(", ")}`;
      }, waitMs);
      expect(health.report("ready")).toMatchObject({ status: "Healthy" });
      expect([...sent].filter((key) => key.startsWith(team("ants").cluster))).toEqual([]);
      expect(await service.stop(5_000)).toBe(0);
    });
  });
}
