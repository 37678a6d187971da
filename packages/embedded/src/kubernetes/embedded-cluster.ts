import { randomBytes } from "node:crypto";
import type { Clock } from "@tmc/kube/clock.ts";
import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { createAuthenticator } from "../auth/authenticator.ts";
import { bootstrapRoles } from "../auth/bootstrap-roles.ts";
import { isAllowed, rulesOf, storedRbac } from "../auth/rbac.ts";
import { createServiceAccountTokens } from "../auth/service-account-tokens.ts";
import { clusterDefinitions, commonDefinitions } from "../builtin/definitions.ts";
import { startGarbageCollector } from "../controllers/garbage-collector.ts";
import { startNamespaceController } from "../controllers/namespaces.ts";
import { startCustomDefinitionController } from "../definitions/custom-definitions.ts";
import type { Catalog } from "../definitions/definition.ts";
import { respondOpenApi } from "../definitions/openapi.ts";
import { recordsAt } from "../machinery/fields.ts";
import { type Composition, type EmbeddedServer, type ServerCore, startServer } from "../server/embedded-server.ts";
import type { Injection } from "../server/faults.ts";
import type { User } from "../server/http.ts";
import { textResponse } from "../server/representations.ts";
import { generatedUid } from "../storage/object-names.ts";
import { timestamp } from "../storage/operations-core.ts";
import type { CertificateAuthority } from "../tls/certificates.ts";
import { withClusterAdmission } from "./admission.ts";
import type { Behavior } from "./behavior.ts";
import { bootstrapObjects } from "./bootstrap.ts";
import { createClusterCatalog, createClusterFrontend } from "./cluster-frontend.ts";
import { clusterControllers, controlPlaneControllers } from "./controllers/all.ts";
import { createEngine, type Engine } from "./engine.ts";
import type { Pod } from "./kinds.ts";
import { kubernetesVersion, type NodeSpec, nodeObjects } from "./nodes.ts";
import type { PodOutcome } from "./scheduling/kubelet.ts";
import { createServiceAddresses } from "./service-addresses.ts";
import { clusterUser, createStoreWorld, type StoreWorld } from "./store-world.ts";

export type EmbeddedClusterOptions = Readonly<{
  /** Prefix of the node names. */
  name: string;
  /** @default the system clock */
  clock?: Clock | undefined;
  /** For generated names and uids. @default Math.random */
  random?: (() => number) | undefined;
  /** Whether to listen on loopback with TLS, in addition to the in-process transport. @default true */
  listen?: boolean | undefined;
  /** @default a free port */
  port?: number | undefined;
  /** Number of nodes, or their descriptions. @default 3 */
  nodes?: number | readonly NodeSpec[] | undefined;
  /**
   * Whether the cluster runs workloads. If not, it is a control plane like a kube-apiserver without workload controllers: it
   * stores Deployments and creates no pods. @default true
   */
  workloadControllers?: boolean | undefined;
  /** Users in addition to the administrator, by bearer token. */
  users?: Readonly<Record<string, User>> | undefined;
  /** The administrator's token. @default a random one */
  adminToken?: string | undefined;
  /** How long a pod takes to become ready and to terminate, and a load balancer to get its address. @default 50 */
  podReadyMs?: number | undefined;
  /** How long the pods of a job run. @default podReadyMs */
  podRunMs?: number | undefined;
  /** Decides the outcome of a pod. If it returns undefined, the pod's annotation and the kind of its owner decide. */
  podOutcome?: ((pod: Pod) => PodOutcome | undefined) | undefined;
  /** Servers that share an authority trust each other's client certificates. @default its own */
  authority?: CertificateAuthority | undefined;
  /** How many changes per type watches can resume over; each keeps an object in memory. @default 2000 */
  history?: number | undefined;
  /** Called when a controller of the cluster fails; the controller retries in any case. */
  onControllerError?: ((controller: string, key: string, error: unknown) => void) | undefined;
}>;

export type EmbeddedCluster = Omit<EmbeddedServer, "endpoint" | "transport"> &
  Readonly<{
    name: string;
    adminToken: string;
    catalog: Catalog;
    /** Endpoint for clients over TLS. @default the administrator's token */
    endpoint(token?: string): Endpoint;
    /** Transport for clients in the same process. @default the administrator's token */
    transport(token?: string): Transport;
    /** Delays every response. */
    makeSlow(ms: number): void;
    /** Stops scheduling: new pods stay pending. */
    makeFull(): void;
    /** Refuses requests or leaves them hanging, and stalls open watches. */
    makeUnreachable(requests?: "hang" | "refuse"): void;
    /** Makes `/readyz` fail; images cannot be pulled and running containers crash. */
    makeBroken(): void;
    /** Reverts all of the above. */
    recover(): void;
  }>;

const adminUser: User = { name: "kubernetes-admin", groups: ["system:masters", "system:authenticated"] };
const defaultReadyMs = 50;
const defaultNodes = 3;
const defaultHistory = 2000;

/** Starts an in-memory Kubernetes cluster, with nodes and controllers that run its workloads. */
export async function startEmbeddedCluster(options: EmbeddedClusterOptions): Promise<EmbeddedCluster> {
  const { name, podReadyMs = defaultReadyMs, podRunMs = podReadyMs, adminToken = newToken() } = options;
  const behavior: Behavior = {
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
      parts = assemble(core, { options, behavior, adminToken });
      return parts.composition;
    },
  });
  if (parts === undefined) throw new Error(`embedded cluster ${name}: not composed`);
  const { catalog, resync } = parts;
  const recover = (): void => {
    for (const injection of injected.splice(0)) injection.remove();
    behavior.full = false;
    behavior.broken = false;
    resync();
  };
  return {
    ...server,
    name,
    adminToken,
    catalog,
    endpoint: (token = adminToken) => server.endpoint({ token }),
    transport: (token = adminToken) => server.transport({ token }),
    makeSlow: (ms) => {
      injected.push(server.faults.inject({ effect: { kind: "delay", ms } }));
    },
    makeFull: () => {
      behavior.full = true;
      resync();
    },
    makeUnreachable: (requests = "refuse") => {
      injected.push(server.faults.inject({ effect: { kind: "partition", requests } }));
    },
    makeBroken: () => {
      behavior.broken = true;
      resync();
    },
    recover,
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
type Settings = Readonly<{ options: EmbeddedClusterOptions; behavior: Behavior; adminToken: string }>;

function assemble(core: ServerCore, { options, behavior, adminToken }: Settings): Parts {
  const { store, operations, clock } = core;
  const rbac = storedRbac(store, "");
  const serviceAccountTokens = createServiceAccountTokens();
  const authenticator = createAuthenticator({
    now: () => clock.now(),
    tokens: new Map([[adminToken, adminUser], ...Object.entries(options.users ?? {})]),
    serviceAccountTokens,
    findServiceAccount: ({ namespace, name }) =>
      store.get({ storage: "serviceaccounts", logicalCluster: "", namespace, name })?.metadata.uid,
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
      withClusterAdmission(definition, store),
    ),
  ];
  const catalog = createClusterCatalog(definitions, store);
  const catalogOf = (): Catalog => catalog;
  let running: { world: StoreWorld; engine: Engine; stop: () => void } | undefined;

  const start = (): void => {
    const own = [startNamespaceController, startGarbageCollector].map((startController) =>
      startController({ store, operations, clock, catalogOf }),
    );
    const crds = catalog.find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    const stopCustom =
      crds === undefined ? undefined : startCustomDefinitionController({ store, operations, clock, definition: crds });
    const world = createStoreWorld({ store, operations, catalog, clock, random: core.random });
    createBootstrapObjects(core, catalog, options);
    const engine = createEngine({
      world,
      store,
      clock,
      storages: world.storages,
      controllers:
        options.workloadControllers === false
          ? controlPlaneControllers(core.authority.certificate)
          : clusterControllers(behavior, core.authority.certificate),
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
        { name: "poststarthook/start-embedded-workloads", ok: !behavior.broken },
      ],
      respondPath: ({ path }) => {
        const document = respondOpenApi(catalog, path);
        return document === undefined
          ? undefined
          : textResponse(200, document.body, "application/json", { "content-type": document.contentType });
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

function createBootstrapObjects(
  { store, operations, clock, random, url }: ServerCore,
  catalog: Catalog,
  options: EmbeddedClusterOptions,
): void {
  const { clusterRoles, clusterRoleBindings } = bootstrapRoles();
  const now = clock.now();
  const group = "rbac.authorization.k8s.io";
  // Known-valid objects from a real server. Validating all of them would slow down the start.
  const put = (plural: string, object: KubeObject): void => {
    const metadata = { ...object.metadata, uid: generatedUid(random), creationTimestamp: timestamp(now) };
    const key = { storage: `${plural}.${group}`, logicalCluster: "", namespace: "", name: object.metadata.name ?? "" };
    store.put(key, { ...object, metadata });
  };
  for (const role of clusterRoles) put("clusterroles", role);
  for (const binding of clusterRoleBindings) put("clusterrolebindings", binding);

  const create = (ofGroup: string, plural: string, object: KubeObject): void => {
    const definition = catalog.find(ofGroup, "v1", plural);
    if (definition === undefined) return;
    const { namespace } = object.metadata;
    operations.create({ definition, logicalCluster: "", namespace }, object, {
      user: clusterUser,
      fieldManager: "kube-apiserver",
    });
  };
  const port = Number(URL.parse(url)?.port) || 6443;
  for (const each of bootstrapObjects(port)) create(each.group, each.plural, each.object);
  const nodes = options.workloadControllers === false ? 0 : (options.nodes ?? defaultNodes);
  for (const node of nodeObjects(options.name, nodes, now)) create("", "nodes", node);
}

/** The log of a pod: one line per started container. */
function podLog(pod: KubeObject): string {
  const started = recordsAt(pod, "status", "containerStatuses").filter(
    (status) =>
      textAt(status, "state", "running", "startedAt") !== "" ||
      textAt(status, "state", "terminated", "finishedAt") !== "",
  );
  return started
    .map(
      (status) =>
        `${textAt(status, "image")}: container ${textAt(status, "name")} of pod ${pod.metadata.name ?? ""} started\n`,
    )
    .join("");
}
