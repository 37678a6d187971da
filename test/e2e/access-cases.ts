import type { KubeClient } from "@tmc/kube/client.ts";
import { ApiError } from "@tmc/kube/errors.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { serviceAccounts } from "../../lib/api/export-access.ts";
import { exportName } from "../../lib/api/group.ts";
import { requestToken } from "../../lib/install/account-token.ts";
import { bindExport, boundTypes } from "../../lib/install/bind.ts";
import { performBootstrap, planBootstrap } from "../../lib/install/bootstrap.ts";
import { userRoles } from "../../lib/install/bootstrap-objects.ts";
import { ensureObjects } from "../../lib/install/ensure-objects.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import {
  type ApiExportEndpointSlice,
  apiExports,
  apiResourceSchemas,
  endpointSlices,
} from "../../lib/upstream/kcp-types.ts";
import { aRegistration, registrations } from "../contract/provider.ts";
import { events, eventually, eventuallyOk, rbac, secrets, unique } from "../contract/resources.ts";
import type { KcpUnderTest } from "./kcp-under-test.ts";

const everyone = [
  "alice",
  "bob",
  "viewer",
  "operator",
  "cluster-admin",
  "outsider",
  "relay",
  "worker",
  "admin",
] as const;
type Who = (typeof everyone)[number];

/** Where the calls of the table go; each is made as somebody, below the server's root. */
type Places = Readonly<{ provider: string; teamA: string; teamB: string; unbound: string; view: string }>;

type Row = Readonly<{
  who: string;
  call: (client: KubeClient, places: Places) => Promise<unknown>;
}>;

const syncs = { group: "tmc.kcp.io", version: "v1alpha1", plural: "workloadsyncs" };
const ready = { status: { lastHeartbeat: "2026-01-01T00:00:00Z" } };

const list = (at: (places: Places) => string, type = registrations) => ({
  call: (client: KubeClient, places: Places) => client.at(at(places)).list({ type }, { limit: 1 }),
});
const get = (at: (places: Places) => string) => ({
  call: (client: KubeClient, places: Places) => client.at(at(places)).get({ type: registrations, name: "east" }),
});
const create = (at: (places: Places) => string) => ({
  call: (client: KubeClient, places: Places) =>
    client.at(at(places)).create({ type: registrations }, aRegistration(unique("made"))),
});
const writeStatus = (at: (places: Places) => string) => ({
  call: (client: KubeClient, places: Places) =>
    client
      .at(at(places))
      .patch({ type: registrations, name: "east" }, { type: "merge", body: ready }, { subresource: "status" }),
});
const remove = (at: (places: Places) => string) => ({
  // What is not there cannot be lost; who may not is told so before anybody informerVerbs.
  call: async (client: KubeClient, places: Places) =>
    client
      .at(at(places))
      .delete({ type: registrations, name: "nobody" })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError) || error.body?.details?.name !== "nobody" || error.status !== 404) throw error;
      }),
});

const teamA = ({ teamA: cluster }: Places): string => `/clusters/${cluster}`;
const teamB = ({ teamB: cluster }: Places): string => `/clusters/${cluster}`;
const provider = ({ provider: path }: Places): string => `/clusters/${path}`;
const everywhere = ({ view }: Places): string => `${view}/clusters/*`;
const viewOfA = ({ view, teamA: cluster }: Places): string => `${view}/clusters/${cluster}`;
const viewOfUnbound = ({ view, unbound }: Places): string => `${view}/clusters/${unbound}`;
const otherExport = "other.example.dev";
const viewOfOther = ({ view, teamA: cluster }: Places): string =>
  `${view.replace(/[^/]+$/, otherExport)}/clusters/${cluster}`;

const aSecret = (name: string): object => ({ apiVersion: "v1", kind: "Secret", metadata: { name } });
const anEvent = (name: string): object => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name, namespace: "default" },
  involvedObject: { apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", name: "east" },
  reason: "Test",
  message: "a test",
  type: "Normal",
});

/** Who may do what; whoever is not named may not. */
const table: Readonly<Record<string, Row>> = {
  "in a tenant's workspace: list registrations": { ...list(teamA), who: "alice viewer operator cluster-admin admin" },
  "in a tenant's workspace: create a registration": { ...create(teamA), who: "alice cluster-admin admin" },
  "in a tenant's workspace: write a status": { ...writeStatus(teamA), who: "admin" },
  "in a tenant's workspace: delete a registration": { ...remove(teamA), who: "alice cluster-admin admin" },
  "in a tenant's workspace: list secrets": { ...list(teamA, secrets), who: "alice operator cluster-admin admin" },
  "in a tenant's workspace: list what TMC alone writes": {
    ...list(teamA, syncs),
    who: "alice viewer operator cluster-admin admin",
  },
  "in a tenant's workspace: create a placement": {
    who: "alice operator cluster-admin admin",
    call: (client, places) =>
      client.at(teamA(places)).create(
        { type: { ...registrations, plural: "workloadplacements" } },
        {
          apiVersion: "tmc.kcp.io/v1alpha1",
          kind: "WorkloadPlacement",
          metadata: { name: unique("placement") },
          spec: { strategy: "Spread" },
        },
      ),
  },
  "in a tenant's workspace: write what TMC alone writes": {
    who: "admin",
    call: (client, places) =>
      client
        .at(teamA(places))
        .create(
          { type: syncs, namespace: "default" },
          { apiVersion: "tmc.kcp.io/v1alpha1", kind: "WorkloadSync", metadata: { name: unique("sync") }, spec: {} },
        )
        .catch(unlessInvalid),
  },
  "in another tenant's workspace: list registrations": { ...list(teamB), who: "bob admin" },
  "in another tenant's workspace: create a registration": { ...create(teamB), who: "bob admin" },

  "beside the export: list the addresses of its virtual workspaces": {
    ...list(provider, endpointSlices),
    who: "relay worker admin",
  },
  "beside the export: list schemas": { ...list(provider, apiResourceSchemas), who: "relay worker admin" },
  "beside the export: list exports": {
    who: "relay worker admin",
    call: (client, places) => client.at(provider(places)).list({ type: apiExports }),
  },
  "beside the export: read the export": {
    who: "worker admin",
    call: (client, places) => client.at(provider(places)).get({ type: apiExports, name: exportName }),
  },
  "beside the export: change the export": {
    who: "admin",
    call: (client, places) =>
      client
        .at(provider(places))
        .patch({ type: apiExports, name: exportName }, { type: "merge", body: { metadata: { labels: { a: "b" } } } }),
  },
  "beside the export: list secrets, its identity among them": { ...list(provider, secrets), who: "admin" },
  "beside the export: write an event": {
    who: "worker admin",
    call: (client, places) =>
      client.at(provider(places)).create({ type: events, namespace: "default" }, anEvent(unique("event"))),
  },

  "through the export: list registrations of all tenants": { ...list(everywhere), who: "relay worker admin" },
  "through the export: watch registrations of all tenants": {
    who: "relay worker admin",
    call: async (client, places) => {
      for await (const _ of client.at(everywhere(places)).watch({ type: registrations }, { timeoutSeconds: 1 })) return;
    },
  },
  "through the export: list the secrets of all tenants": { ...list(everywhere, secrets), who: "relay worker admin" },
  "through the export: list a tenant's registrations": { ...list(viewOfA), who: "relay worker admin" },
  "through the export: read a tenant's registration": { ...get(viewOfA), who: "worker admin" },
  "through the export: create a tenant's registration": { ...create(viewOfA), who: "worker admin" },
  "through the export: write a status": { ...writeStatus(viewOfA), who: "worker admin" },
  "through the export: delete a tenant's registration": { ...remove(viewOfA), who: "worker admin" },
  "through the export: write an event": {
    who: "worker admin",
    call: (client, places) =>
      client.at(viewOfA(places)).create({ type: events, namespace: "default" }, anEvent(unique("event"))),
  },
  "through the export: write a secret, which is not claimed": {
    who: "",
    call: (client, places) =>
      client.at(viewOfA(places)).create({ type: secrets, namespace: "default" }, aSecret(unique("secret"))),
  },
  "through the export: list in a workspace that has not bound it": { ...list(viewOfUnbound), who: "" },
  "through another export: list a tenant's registrations": { ...list(viewOfOther), who: "" },
};

/** Not every field has to be right for the question whether somebody may. */
function unlessInvalid(error: unknown): void {
  if (!(error instanceof ApiError) || error.status !== 422) throw error;
}

/** Two tenants, an outsider and the two service accounts: what each may do, directly and through the export. */
export function accessCases(title: string, start: () => Promise<KcpUnderTest>): void {
  describe(title, () => {
    let kcp: KcpUnderTest;
    let places: Places;
    const clients = new Map<Who, KubeClient>();

    beforeAll(async () => {
      kcp = await start();
      const path = `root:${unique("tmc")}`;
      await performBootstrap(kcp.admin, {
        path,
        plan: await planBootstrap(kcp.admin, { path }),
        openEndpoint: (url) => kcp.admin.at(new URL(url).pathname),
      });
      const home = kcp.admin.at(`/clusters/${path}`);
      const other = {
        apiVersion: "apis.kcp.io/v1alpha2",
        kind: "APIExport",
        metadata: { name: otherExport },
        spec: {},
      };
      await home.create({ type: apiExports }, other);
      const aTeam = async (owner?: string): Promise<string> => {
        const cluster = await ensureWorkspace(kcp.admin, `root:${unique("team")}`);
        if (owner !== undefined) await giveRole(kcp.admin.at(`/clusters/${cluster}`), owner, "cluster-admin");
        return cluster;
      };
      const [ofAlice, ofBob, unbound] = [await aTeam("alice"), await aTeam("bob"), await aTeam()];
      const as = (token: string): KubeClient =>
        kcp.clientAs({ token: async () => token, certificate: undefined, key: undefined });
      clients.set("admin", kcp.admin);
      clients.set("alice", as(kcp.users.alice));
      clients.set("bob", as(kcp.users.bob));
      for (const person of ["viewer", "operator", "cluster-admin"] as const) {
        clients.set(person, kcp.clientAs({ impersonate: { user: person, groups: ["system:authenticated"] } }));
      }
      clients.set("outsider", kcp.clientAs({ impersonate: { user: "carol", groups: ["system:authenticated"] } }));
      for (const service of ["relay", "worker"] as const) {
        const account = serviceAccounts[service];
        clients.set(service, as(await eventuallyOk(() => requestToken(home, { account, lifetimeSeconds: 3600 }))));
      }
      // Each tenant binds for himself: the workspace is his, and nobody else has to be asked.
      const { binding } = await bindExport(clientOf("alice").at(`/clusters/${ofAlice}`), path);
      await ensureObjects(clientOf("alice").at(`/clusters/${ofAlice}`), userRoles(boundTypes(binding)));
      for (const person of ["viewer", "operator", "cluster-admin"]) {
        await giveRole(kcp.admin.at(`/clusters/${ofAlice}`), person, `tmc:${person}`);
      }
      await bindExport(clientOf("bob").at(`/clusters/${ofBob}`), path);
      await eventuallyOk(() =>
        clientOf("alice").at(`/clusters/${ofAlice}`).create({ type: registrations }, aRegistration("east")),
      );
      let view = "";
      await eventually(async () => {
        const { status } = await home.get<ApiExportEndpointSlice>({ type: endpointSlices, name: exportName });
        const url = status?.endpoints?.[0]?.url;
        if (url === undefined) return "the export has no address yet";
        view = new URL(url).pathname;
        return undefined;
      });
      places = { provider: path, teamA: ofAlice, teamB: ofBob, unbound, view };
      // Roles take a moment to count. Once all that is granted is granted, what is refused is refused for good.
      await eventually(async () => {
        for (const [name, { who, call }] of Object.entries(table)) {
          for (const each of who.split(" ").filter((word) => word !== "")) {
            const refusal = await refusalOf(() => call(clientOf(each as Who), places));
            if (refusal !== undefined) return `${each} may not "${name}": ${refusal}`;
          }
        }
        return undefined;
      }, 60_000);
    }, 180_000);
    afterAll(async () => {
      await Promise.all([...clients.values()].map((client) => client.close()));
      await kcp?.stop();
    }, 60_000);

    const clientOf = (who: Who): KubeClient => clients.get(who) ?? kcp.admin;

    it.each(Object.entries(table))("%s", async (_, { who, call }) => {
      const may: Who[] = [];
      for (const each of everyone) {
        if ((await refusalOf(() => call(clientOf(each), places))) === undefined) may.push(each);
      }
      expect(may.join(" ")).toBe(who);
    });
  });
}

/** How a call was refused; undefined when it was not. What is no refusal fails the test. */
async function refusalOf(call: () => Promise<unknown>): Promise<string | undefined> {
  try {
    await call();
    return undefined;
  } catch (error) {
    // kcp hides what one may not see: a refusal can have the form of something missing.
    if (error instanceof ApiError && [401, 403, 404, 405].includes(error.status ?? 0)) return error.message;
    throw error;
  }
}

async function giveRole(workspace: KubeClient, user: string, role: string): Promise<void> {
  await eventuallyOk(() =>
    workspace.create(
      { type: rbac("clusterrolebindings") },
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "ClusterRoleBinding",
        metadata: { name: `test-${user}` },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: role },
        subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: user }],
      },
    ),
  );
}
