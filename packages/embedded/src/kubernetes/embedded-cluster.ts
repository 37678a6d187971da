import { randomBytes } from "node:crypto";
import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { createAuthenticator } from "../auth/authenticator.ts";
import { bootstrapRoles } from "../auth/bootstrap-roles.ts";
import { isAllowed, rulesOf, storedRbac } from "../auth/rbac.ts";
import { createServiceAccountTokens } from "../auth/service-account-tokens.ts";
import { clusterDefinitions, commonDefinitions } from "../builtin/definitions.ts";
import type { CertificateAuthority } from "../certificates.ts";
import { startGarbageCollector } from "../controllers/garbage.ts";
import { startNamespaceController } from "../controllers/namespaces.ts";
import { startCustomDefinitions } from "../custom-definitions.ts";
import type { Catalog } from "../definition.ts";
import { type Composition, type EmbeddedServer, type ServerCore, startServer } from "../embedded-server.ts";
import type { Injection } from "../faults.ts";
import type { User } from "../http.ts";
import { generatedUid } from "../object-names.ts";
import { respondOpenApi } from "../openapi.ts";
import { timestamp } from "../operations-core.ts";
import { textResponse } from "../representations.ts";
import { admitted } from "./admission.ts";
import type { Behaviour } from "./behaviour.ts";
import { bootstrapObjects } from "./bootstrap.ts";
import { createClusterCatalog } from "./cluster-catalog.ts";
import { createClusterFrontend } from "./cluster-frontend.ts";
import { clusterControllers } from "./controllers/all.ts";
import { createEngine, type Engine } from "./engine.ts";
import type { Pod } from "./kinds.ts";
import { kubernetesVersion, type NodeSpec, nodeObjects } from "./nodes.ts";
import { podLog } from "./pod-log.ts";
import type { Outcome } from "./scheduling/kubelet.ts";
import { createServiceAddresses } from "./service-addresses.ts";
import { clusterUser, createStoreWorld, type StoreWorld } from "./store-world.ts";

export type ClusterOptions = Readonly<{
  /** Names the cluster's nodes. */
  name: string;
  /** @default the machine's */
  clock?: Clock | undefined;
  /** For generated names and uids. @default Math.random */
  random?: (() => number) | undefined;
  /** Over TLS on loopback too, not only inside the process. @default true */
  listen?: boolean | undefined;
  /** @default a free one */
  port?: number | undefined;
  /** @default 3 */
  nodes?: number | readonly NodeSpec[] | undefined;
  /** Users besides the administrator, by their bearer token. */
  users?: Readonly<Record<string, User>> | undefined;
  /** The administrator's token. @default a random one */
  adminToken?: string | undefined;
  /** How long a pod takes to be ready and to end, and a load balancer to get its address. @default 50 */
  podReadyMs?: number | undefined;
  /** How long a job's pod works. @default as long as a pod takes to be ready */
  podRunMs?: number | undefined;
  /** Says what becomes of a pod; where it says nothing the pod's annotation and its kind do. */
  podOutcome?: ((pod: Pod) => Outcome | undefined) | undefined;
  /** Servers that trust each other's clients share one. @default its own */
  authority?: CertificateAuthority | undefined;
  /** How many changes of a type watches can resume over; each keeps an object in memory. @default 2000 */
  history?: number | undefined;
  /** Hears of a controller of the cluster that failed; it tries again anyway. */
  onControllerError?: ((controller: string, key: string, error: unknown) => void) | undefined;
}>;

export type EmbeddedCluster = Omit<EmbeddedServer, "endpoint" | "transport"> &
  Readonly<{
    name: string;
    adminToken: string;
    catalog: Catalog;
    /** For clients over TLS; the administrator's unless another token is given. */
    endpoint(token?: string): Endpoint;
    /** For clients inside the process; the administrator's unless another token is given. */
    transport(token?: string): Transport;
    /** Answers everything so much later. */
    beSlow(ms: number): void;
    /** Takes no more pods: they stay pending. */
    beFull(): void;
    /** Cannot be reached: requests are refused or left hanging, and watches fall silent. */
    beUnreachable(requests?: "hang" | "refuse"): void;
    /** Says it is not ready; images cannot be pulled and running containers crash. */
    beBroken(): void;
    /** Takes back everything it was told to be. */
    recover(): void;
  }>;

const adminUser: User = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };
const defaultReadyMs = 50;
const defaultNodes = 3;
const defaultHistory = 2000;

/** Starts a Kubernetes cluster in memory, with nodes and controllers that run its workloads. */
export async function startEmbeddedCluster(options: ClusterOptions): Promise<EmbeddedCluster> {
  const { name, podReadyMs = defaultReadyMs, podRunMs = podReadyMs, adminToken = newToken() } = options;
  const behaviour: Behaviour = {
    full: false,
    broken: false,
    readyMs: podReadyMs,
    runMs: podRunMs,
    outcomeOf: options.podOutcome ?? (() => undefined),
  };
  const injected: Injection[] = [];
  let parts: Parts | undefined;
  const server = await startServer({
    version: versionInfo,
    clock: options.clock,
    listen: options.listen,
    port: options.port,
    random: options.random,
    authority: options.authority,
    history: options.history ?? defaultHistory,
    compose: (core) => {
      parts = assemble(core, { options, behaviour, adminToken });
      return parts.composition;
    },
  });
  if (parts === undefined) throw new Error(`embedded cluster ${name}: not composed`);
  const { catalog, resync } = parts;
  const settle = (): void => {
    for (const injection of injected.splice(0)) injection.remove();
    behaviour.full = false;
    behaviour.broken = false;
    resync();
  };
  return {
    ...server,
    name,
    adminToken,
    catalog,
    endpoint: (token = adminToken) => server.endpoint({ token }),
    transport: (token = adminToken) => server.transport({ token }),
    beSlow: (ms) => {
      injected.push(server.faults.inject({ effect: { kind: "delay", ms } }));
    },
    beFull: () => {
      behaviour.full = true;
      resync();
    },
    beUnreachable: (requests = "refuse") => {
      injected.push(server.faults.inject({ effect: { kind: "partition", requests } }));
    },
    beBroken: () => {
      behaviour.broken = true;
      resync();
    },
    recover: settle,
  };
}

const newToken = (): string => randomBytes(24).toString("base64url");

const versionInfo = {
  major: "1",
  minor: "36",
  emulationMajor: "1",
  emulationMinor: "36",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "35",
  gitVersion: kubernetesVersion,
  gitCommit: "unknown",
  gitTreeState: "archive",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "none",
  compiler: "none",
  platform: "embedded",
} as const;

type Parts = Readonly<{ composition: Composition; catalog: Catalog; resync: () => void }>;
type Settings = Readonly<{ options: ClusterOptions; behaviour: Behaviour; adminToken: string }>;

function assemble(core: ServerCore, { options, behaviour, adminToken }: Settings): Parts {
  const { store, operations, clock } = core;
  const rbac = storedRbac(store, "");
  const serviceAccountTokens = createServiceAccountTokens();
  const authenticator = createAuthenticator({
    now: () => clock.now(),
    tokens: new Map([[adminToken, adminUser], ...Object.entries(options.users ?? {})]),
    serviceAccountTokens,
    findServiceAccount: ({ namespace, name }) =>
      store.get({ storage: "serviceaccounts", cluster: "", namespace, name })?.metadata.uid,
    mayImpersonate: (user, attributes) => isAllowed(rbac, user, attributes),
  });
  const definitions = [
    ...commonDefinitions({
      decide: (_, user, attributes) => isAllowed(rbac, user, attributes),
      rules: (_, user, namespace) => rulesOf(rbac, user, namespace),
      authenticateToken: (token) => authenticator.authenticateToken(token),
      serviceAccountTokens,
    }),
    ...clusterDefinitions({ assignAddresses: createServiceAddresses(store), readLog: podLog }).map((definition) =>
      admitted(definition, store),
    ),
  ];
  const catalog = createClusterCatalog(definitions, store);
  const catalogOf = (): Catalog => catalog;
  let running: { world: StoreWorld; engine: Engine; stop: () => void } | undefined;

  const start = (): void => {
    const own = [startNamespaceController, startGarbageCollector].map((begin) =>
      begin({ store, operations, clock, catalogOf }),
    );
    const crds = catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const stopCustom =
      crds === undefined ? undefined : startCustomDefinitions({ store, operations, clock, definition: crds });
    const world = createStoreWorld({ store, operations, catalog, clock, random: core.random });
    fill(core, catalog, options);
    const engine = createEngine({
      world,
      store,
      clock,
      storages: world.storages,
      controllers: clusterControllers(behaviour, core.authority.certificate),
      onError: options.onControllerError,
    });
    engine.settle();
    running = {
      world,
      engine,
      stop: () => {
        stopCustom?.();
        for (const controller of own) controller.stop();
      },
    };
  };
  return {
    catalog,
    resync: () => running?.engine.resync(),
    composition: {
      frontend: createClusterFrontend({ catalog, rbac, authenticator }),
      catalogOf,
      health: () => [
        { name: "etcd", ok: true },
        { name: "poststarthook/start-embedded-workloads", ok: !behaviour.broken },
      ],
      respondPath: ({ path }) => {
        const answer = respondOpenApi(catalog, path);
        return answer === undefined
          ? undefined
          : textResponse(200, answer.body, "application/json", { "content-type": answer.contentType });
      },
      start,
      stop: () => {
        running?.engine.stop();
        running?.world.stop();
        running?.stop();
      },
    },
  };
}

/** Creates what a cluster starts with. */
function fill({ store, operations, clock, random, url }: ServerCore, catalog: Catalog, options: ClusterOptions): void {
  const { clusterRoles, clusterRoleBindings } = bootstrapRoles();
  const now = clock.now();
  const group = "rbac.authorization.k8s.io";
  // They come from a real server and need no checks; there are many, and a start should take no time.
  const put = (plural: string, object: KubeObject): void => {
    const metadata = { ...object.metadata, uid: generatedUid(random), creationTimestamp: timestamp(now) };
    const key = { storage: `${plural}.${group}`, cluster: "", namespace: "", name: object.metadata.name ?? "" };
    store.put(key, { ...object, metadata });
  };
  for (const role of clusterRoles) put("clusterroles", role);
  for (const binding of clusterRoleBindings) put("clusterrolebindings", binding);

  const create = (ofGroup: string, plural: string, object: KubeObject): void => {
    const definition = catalog.find(ofGroup, "v1", plural);
    if (definition === undefined) return;
    const { namespace } = object.metadata;
    operations.create({ definition, cluster: "", namespace }, object, {
      user: clusterUser,
      fieldManager: "kube-apiserver",
    });
  };
  const port = Number(URL.parse(url)?.port) || 6443;
  for (const each of bootstrapObjects(port)) create(each.group, each.plural, each.object);
  for (const node of nodeObjects(options.name, options.nodes ?? defaultNodes, now)) create("", "nodes", node);
}
