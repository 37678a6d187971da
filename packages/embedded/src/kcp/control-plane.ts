import type { Clock } from "@tmc/kube/clock.ts";
import type { Access } from "../auth/access.ts";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createServiceAccountTokens } from "../auth/service-account-tokens.ts";
import { commonDefinitions } from "../builtin/definitions.ts";
import { startGarbageCollector } from "../controllers/garbage-collector.ts";
import { startNamespaceController } from "../controllers/namespaces.ts";
import { customDefinitionsOf, startCustomDefinitionController } from "../definitions/custom-definitions.ts";
import type { Catalog, ResourceHooks } from "../definitions/definition.ts";
import type { Frontend } from "../server/frontend.ts";
import type { ApiRequest, User } from "../server/http.ts";
import type { Operations } from "../storage/operations.ts";
import type { Store } from "../storage/store.ts";
import { apiBindingHooks } from "./admission/api-bindings.ts";
import { apiExportHooks } from "./admission/api-exports.ts";
import { createCommonRules } from "./admission/common-rules.ts";
import { logicalClusterHooks } from "./admission/logical-clusters.ts";
import { resourceSchemaHooks } from "./admission/resource-schemas.ts";
import { workspaceHooks } from "./admission/workspaces.ts";
import { createAuthorizer, type KcpAuthorizer, originClusterKey } from "./authorization.ts";
import { bootstrap } from "./bootstrap.ts";
import { createCatalogs } from "./catalogs.ts";
import { createChangeHandler, reconcileKey } from "./controllers/controllers.ts";
import type { ControllerWorld, KcpDelays } from "./controllers/world.ts";
import { createDirectory, type Directory } from "./directory.ts";
import { createKcpFrontend } from "./frontend.ts";
import { systemDefinitions } from "./kcp-types.ts";
import type { Random } from "./names.ts";
import { createSystemClient, type SystemClient, systemTypes } from "./system-client.ts";
import { createVirtualWorkspaces } from "./virtual-workspace.ts";
import { createWorkLoop } from "./work-loop.ts";

export type ControlPlaneOptions = Readonly<{
  store: Store;
  clock: Clock;
  random: Random;
  /** Static bearer tokens and their users. */
  tokens: ReadonlyMap<string, User>;
  delays: KcpDelays;
  /** Scheme, host and port under which clients reach the server. */
  address: () => string;
  /** The server's CA certificate, PEM. */
  ca: () => string;
}>;

/** The parts that turn an embedded server into kcp: catalogs, authorization, virtual workspaces and controllers. */
export interface ControlPlane {
  readonly frontend: Frontend;
  readonly directory: Directory;
  catalogOf(logicalCluster: string): Catalog;
  /** Creates the initial objects in the empty store and starts the controllers. */
  start(operations: Operations): SystemClient;
  /** Runs all queued reconciles now. */
  settle(): void;
  stop(): void;
}

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, random } = options;
  const directory = createDirectory(store);
  const authorizerOf = (): KcpAuthorizer => authorizer;
  const { access, authenticate } = createKcpAccess({ store, clock, tokens: options.tokens, directory, authorizerOf });
  const systemHooks: Readonly<Record<string, ResourceHooks>> = {
    apiresourceschemas: resourceSchemaHooks,
    apiexports: apiExportHooks,
    apibindings: apiBindingHooks(directory, authorizerOf),
    logicalclusters: logicalClusterHooks,
  };
  const catalogs = createCatalogs({
    store,
    directory,
    // kcp does not serve limit ranges.
    common: [
      ...commonDefinitions(access).filter(({ plural }) => plural !== "limitranges"),
      ...systemDefinitions((plural) => systemHooks[plural]),
    ],
    custom: customDefinitionsOf,
    hooksOf: (group, plural) =>
      group === "tenancy.kcp.io" && plural === "workspaces" ? workspaceHooks(directory, authorizerOf) : undefined,
    decorate: createCommonRules(directory),
  });
  const authorizer = createAuthorizer({ store, directory, exportOfType: catalogs.exportOfType });
  const virtualWorkspaces = createVirtualWorkspaces({ directory, catalogs, authorizer });

  let delays: KcpDelays = {};
  let stop = (): void => {};
  let settle = (): void => {};

  return {
    directory,
    catalogOf: catalogs.of,
    frontend: createKcpFrontend({ directory, catalogs, authorizer, virtualWorkspaces, authenticate }),
    start: (operations) => {
      const client = createSystemClient(operations, catalogs);
      const loop = createWorkLoop(clock, (key) => reconcileKey(world, virtualWorkspaces, key));
      const world: ControllerWorld = {
        client,
        directory,
        catalogs,
        store,
        clock,
        random,
        loop,
        delays: () => delays,
        address: options.address,
        ca: options.ca,
      };
      const kubernetes = { store, operations, clock, catalogOf: catalogs.of };
      const running = [startGarbageCollector(kubernetes), startNamespaceController(kubernetes)];
      const endCustomDefinitions = startCustomDefinitionController({
        store,
        operations,
        clock,
        definition: client.definition(systemTypes.customDefinitions, "root"),
      });
      const unsubscribe = store.subscribe(createChangeHandler(world));
      bootstrap(world);
      delays = options.delays;
      settle = () => loop.drain();
      stop = () => {
        unsubscribe();
        endCustomDefinitions();
        for (const controller of running) controller.stop();
        catalogs.stop();
        authorizer.stop();
        loop.stop();
      };
      return client;
    },
    settle: () => settle(),
    stop: () => stop(),
  };
}

type KcpAccessOptions = Readonly<{
  store: Store;
  clock: Clock;
  tokens: ReadonlyMap<string, User>;
  directory: Directory;
  /** Called at the first request: the authorizer needs the catalogs, and the catalogs need access reviews. */
  authorizerOf: () => KcpAuthorizer;
}>;

/** The reason that a kcp with one shard gives for every decision. */
const reasons = { true: "access granted", false: "access denied" } as const;

function createKcpAccess({ store, clock, tokens, directory, authorizerOf }: KcpAccessOptions): {
  access: Access;
  authenticate: (request: ApiRequest) => User;
} {
  const serviceAccountTokens = createServiceAccountTokens("https://kcp.default.svc");
  const decide: Access["decide"] = (logicalCluster, user, attributes) => {
    const allowed = authorizerOf().decide(logicalCluster, user, attributes);
    return { allowed, reason: reasons[`${allowed}`] };
  };
  const authenticator = createAuthenticator({
    now: () => clock.now(),
    tokens,
    serviceAccountTokens,
    findServiceAccount: ({ logicalCluster, namespace, name }) =>
      store.get({ storage: "serviceaccounts", logicalCluster, namespace, name })?.metadata.uid,
    mayImpersonate: (user, attributes, { path }) => {
      const [, workspacePath = ""] = /^\/clusters\/([^/]+)/.exec(path) ?? [];
      return decide(directory.logicalClusterAt(workspacePath) ?? "", user, attributes);
    },
  });
  /** Adds the logical cluster of a service account, which its token names: kcp's authorizers depend on it. */
  const withOrigin = (user: User, token: string): User => {
    const isServiceAccount = user.name.startsWith("system:serviceaccount:");
    const account = isServiceAccount ? serviceAccountTokens.read(token, clock.now()) : undefined;
    if (account === undefined) return user;
    const scopes = {
      [originClusterKey]: [account.logicalCluster],
      "authentication.kcp.io/scopes": [`cluster:${account.logicalCluster}`],
    };
    return { ...user, extra: { ...scopes, ...user.extra } };
  };
  return {
    authenticate: (request) => {
      const token = /^bearer\s+(\S+)/i.exec(request.headers.authorization ?? "")?.[1];
      const user = authenticator.authenticate(request);
      return token === undefined ? user : withOrigin(user, token);
    },
    access: {
      decide,
      rules: (logicalCluster, user, namespace) => authorizerOf().rules(logicalCluster, user, namespace),
      authenticateToken: (token) => {
        const user = authenticator.authenticateToken(token);
        return user === undefined ? undefined : withOrigin(user, token);
      },
      serviceAccountTokens,
    },
  };
}
