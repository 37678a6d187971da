import { type EmbeddedKcp, startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { Store, StoreKey } from "@tmc/embedded/storage/store.ts";
import { createCertificateAuthority } from "@tmc/embedded/tls/certificates.ts";
import type { KubeClient } from "@tmc/kube/client.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { apiBinding, apiExport } from "../../lib/api/api-export.ts";
import { clusterRegistration } from "../../lib/api/cluster-registration.ts";
import { exportWorkspace } from "../../lib/api/group.ts";
import { apiResourceSchema } from "../../lib/api/resource-schema.ts";
import { workloadPlacement } from "../../lib/api/workload-placement.ts";
import { workloadSync } from "../../lib/api/workload-sync.ts";
import { workloadTypes } from "../../lib/api/workload-types.ts";
import { type ApiBinding, apiBindings, apiExports, apiResourceSchemas } from "../../lib/upstream/kcp-types.ts";
import { clientOf } from "../../lib/upstream/logical-cluster.ts";
import { createSeeded, type Seeded } from "./seeded.ts";
import { createSimClock, type SimClock } from "./sim-clock.ts";

/** The workspaces of every run, and the clusters that can be registered in them. */
export const tenantPaths = ["root:a", "root:b"] as const;
export const physicalNames = ["c0", "c1", "c2", "c3"] as const;
export type Physical = (typeof physicalNames)[number];
/** A healthy cluster that no scenario registers: credentials may lead to it by mistake. */
export const spareName = "spare";

/**
 * The namespaces in which tenants keep workloads. What ends up on clusters from the first one follows from the desired objects
 * alone; in the second one it also depends on who came first, so runs are not compared there.
 */
export const workloadNamespaces = ["shop", "wild"] as const;
/** Namespaces that only features use; their users create them. */
export const featureNamespaces = ["up", "late-a", "late-b"] as const;
export const tenantNamespaces = [...workloadNamespaces, ...featureNamespaces] as const;
export type WorkloadNamespace = (typeof tenantNamespaces)[number];
/** The namespaces in which the result follows from the desired objects alone. */
export const checkedNamespaces: ReadonlySet<string> = new Set(tenantNamespaces.filter((name) => name !== "wild"));
/** The types that are exported beside our own kinds: one with pods and one without. */
const exportedTypes: ReadonlySet<string> = new Set(["deployments", "services"]);

/** Who the controller is in kcp: faults are for its requests and for nobody else's. */
export const controllerUser = "tmc";
export const controllerToken = "controller-token";
export const startMs = Date.parse("2026-01-01T00:00:00Z");

/** The tokens with which a tenant is let into any of the clusters: two, so that one can take the place of the other. */
export const tokensOf = (tenant: number): readonly [string, string] => [`tenant-${tenant}-one`, `tenant-${tenant}-two`];

/** A kcp with two tenants and four clusters, all in this process; their making is what costs, so runs share them. */
export type Servers = Readonly<{
  clock: SimClock;
  kcp: EmbeddedKcp;
  /** As the tenants' user, below each tenant's logical cluster. */
  users: readonly KubeClient[];
  /** The logical clusters' names, in the order of `tenantPaths`. */
  tenants: readonly string[];
  clusters: ReadonlyMap<string, EmbeddedCluster>;
  exportsAllTypes: boolean;
  /** Servers like these whose export has all types; made when they are first asked for. */
  withAllTypes(): Promise<Servers>;
  /** Takes away everything that the last run has left, and starts the time and all choices anew. */
  restart(seeded: Seeded): Promise<void>;
}>;

/** A run only computes: this ends one that never does, however busy the machine is. */
export const hangTimeoutMs = 900_000;

/** The namespace whose uid is the identity of a cluster. */
export const identityKey: StoreKey = { storage: "namespaces", logicalCluster: "", namespace: "", name: "kube-system" };
const namespaces = { group: "", version: "v1", plural: "namespaces" } as const;
/** More than the longest wait of any controller of a cluster takes. */
const mostRounds = 30;

/** Notes what is added to a store from now on; the answer takes it away again, and says whether there was something. */
function emptier(store: Store): () => boolean {
  const added = new Map<string, StoreKey>();
  store.subscribe(({ type, key, object }) => {
    // A tenant that has unbound and bound again keeps its binding.
    if (object.kind === "APIBinding") return;
    const id = JSON.stringify(key);
    if (type === "ADDED") added.set(id, key);
    else if (type === "DELETED") added.delete(id);
  });
  return () => {
    const keys = [...added.values()];
    for (const key of keys) store.delete(key);
    return keys.length > 0;
  };
}

/** Starts the servers. */
export async function startServers({ exportsAllTypes = false } = {}): Promise<Servers> {
  const clock = createSimClock();
  clock.restart(startMs, () => 0);
  let choices = createSeeded("servers");
  const random = (): number => choices.next();
  const authority = createCertificateAuthority();
  const kcp = await startEmbeddedKcp({
    listen: false,
    clock,
    random,
    authority,
    users: [{ token: controllerToken, name: controllerUser, groups: ["system:kcp:admin"] }],
  });
  const client = createKubeClient({
    endpoint: { server: kcp.url },
    transport: kcp.transport(),
    name: "kcp",
    clock,
    random,
  });
  const settle = async (): Promise<void> => {
    kcp.settle();
    await clock.runUntil(clock.now());
  };

  kcp.createWorkspace(exportWorkspace);
  const kinds = [
    clusterRegistration,
    workloadPlacement,
    workloadSync,
    ...workloadTypes.filter(({ plural }) => exportsAllTypes || exportedTypes.has(plural)),
  ];
  const provider = clientOf(client, exportWorkspace);
  const fieldManager = "tmc";
  for (const kind of kinds) await provider.create({ type: apiResourceSchemas }, apiResourceSchema(kind));
  const offered = apiExport(kinds);
  const exportAddress = { type: apiExports, name: offered.metadata.name };
  await provider.patch(exportAddress, { type: "apply", body: offered, force: true }, { fieldManager });
  await settle();

  const binding = apiBinding({ path: exportWorkspace });
  const bindingAddress = { type: apiBindings, name: binding.metadata.name };
  const bind = async (tenant: KubeClient): Promise<void> => {
    await tenant.patch(bindingAddress, { type: "apply", body: binding, force: true }, { fieldManager });
    await settle();
    const { status } = await tenant.get<ApiBinding>(bindingAddress);
    if (status?.phase !== "Bound") throw new Error(`simulation: a binding is ${status?.phase}`);
  };
  /** A run that broke a law may have left a tenant unbound. */
  const ensureBound = async (tenant: KubeClient): Promise<void> => {
    const { items } = await tenant.listAll<ApiBinding>({ type: apiBindings });
    if (!items.some(({ metadata }) => metadata.name === binding.metadata.name)) await bind(tenant);
  };
  const tenants: string[] = [];
  for (const path of tenantPaths) {
    const cluster = kcp.createWorkspace(path);
    const tenant = clientOf(client, cluster);
    for (const name of workloadNamespaces) {
      await tenant.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    }
    await settle();
    // A binding updates all objects of claimed types, and in kcp the first update of an object always is a change: after the
    // namespaces, so that a tenant that binds again in a run causes the same changes in the first run and in later ones.
    await bind(tenant);
    tenants.push(cluster);
  }

  const clusters = new Map<string, EmbeddedCluster>();
  const users = Object.fromEntries(
    tenantPaths.flatMap((path, tenant) =>
      tokensOf(tenant).map((token) => [token, { name: path, groups: ["system:masters", "system:authenticated"] }]),
    ),
  );
  for (const name of [...physicalNames, spareName]) {
    clusters.set(name, await startEmbeddedCluster({ name, listen: false, clock, random, authority, users, nodes: 2 }));
  }
  await settle();

  let all: Promise<Servers> | undefined;
  const emptied = [kcp, ...clusters.values()].map(({ store }) => emptier(store));

  const identities = [...clusters.values()].map((cluster) => [cluster, cluster.store.get(identityKey)] as const);

  return {
    clock,
    kcp,
    users: tenants.map((cluster) => clientOf(client, cluster)),
    tenants,
    clusters,
    exportsAllTypes,
    withAllTypes: () => {
      all ??= startServers({ exportsAllTypes: true });
      return all;
    },
    restart: async (seeded) => {
      kcp.faults.clear();
      for (const cluster of clusters.values()) {
        cluster.faults.clear();
        cluster.recover();
      }
      // A cluster that was built anew has another identity.
      for (const [{ store }, identity] of identities) {
        if (identity !== undefined && store.get(identityKey)?.metadata.uid !== identity.metadata.uid) {
          store.put(identityKey, structuredClone(identity));
        }
      }
      // What the servers' own controllers have to do about it may take them some time.
      for (let rounds = 0; rounds < mostRounds; rounds++) {
        // The last word of the run before may still be on its way, and come after this.
        const isEmpty = emptied.map((empty) => empty()).every((hadSome) => !hadSome);
        await clock.runUntil(clock.now() + 60_000);
        kcp.settle();
        if (isEmpty && clock.pending === 0) break;
      }
      for (const cluster of tenants) await ensureBound(clientOf(client, cluster));
      for (const { store } of [kcp, ...clusters.values()]) store.compact();
      const order = seeded.fork("order");
      choices = seeded.fork("servers");
      clock.restart(startMs, () => order.next());
    },
  };
}
