import type { Clock } from "@tmc/kube/clock.ts";
import type { Access } from "../auth/access.ts";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createServiceAccountTokens } from "../auth/service-account-tokens.ts";
import { commonDefinitions } from "../builtin/definitions.ts";
import { startGarbageCollector } from "../controllers/garbage.ts";
import { startNamespaceController } from "../controllers/namespaces.ts";
import { definitionsOf, startCustomDefinitions } from "../custom-definitions.ts";
import type { Catalog, ResourceHooks } from "../definition.ts";
import type { Frontend } from "../frontend.ts";
import type { ApiRequest, User } from "../http.ts";
import type { Operations } from "../operations.ts";
import type { Store } from "../store.ts";
import { apiBindingHooks } from "./admission/api-bindings.ts";
import { apiExportHooks } from "./admission/api-exports.ts";
import { createEveryObjectRules } from "./admission/every-object.ts";
import { logicalClusterHooks } from "./admission/logical-clusters.ts";
import { resourceSchemaHooks } from "./admission/resource-schemas.ts";
import { workspaceHooks } from "./admission/workspaces.ts";
import { createAuthorizer, homeClusterKey, type KcpAuthorizer } from "./authorization.ts";
import { bootstrap } from "./bootstrap.ts";
import { createCatalogs } from "./catalogs.ts";
import { createTriggers, work } from "./controllers/controllers.ts";
import type { ControllerWorld, Delays } from "./controllers/world.ts";
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
  /** Bearer tokens and whose they are. */
  tokens: ReadonlyMap<string, User>;
  delays: Delays;
  /** Scheme, host and port under which clients reach the server. */
  address: () => string;
  /** The certificate authority of the server, PEM. */
  ca: () => string;
}>;

/** All that makes an embedded server a kcp: what it serves where, who may do what, and the controllers that keep it so. */
export interface ControlPlane {
  readonly frontend: Frontend;
  readonly directory: Directory;
  catalogOf(cluster: string): Catalog;
  /** Fills the empty store and sets the controllers going. */
  start(operations: Operations): SystemClient;
  /** Lets the controllers do all that is waiting, now. */
  settle(): void;
  stop(): void;
}

/** What a real single kcp says of every decision. */
const reasons = { true: "access granted", false: "access denied" } as const;

export function createControlPlane(options: ControlPlaneOptions): ControlPlane {
  const { store, clock, random } = options;
  const directory = createDirectory(store);
  const tokens = createServiceAccountTokens("https://kcp.default.svc");

  const authenticator = createAuthenticator({
    now: () => clock.now(),
    tokens: options.tokens,
    serviceAccountTokens: tokens,
    findServiceAccount: ({ cluster, namespace, name }) =>
      store.get({ storage: "serviceaccounts", cluster, namespace, name })?.metadata.uid,
    mayImpersonate: (user, attributes, { path }) => {
      const [, given = ""] = /^\/clusters\/([^/]+)/.exec(path) ?? [];
      const allowed = authorizer.decide(directory.clusterAt(given) ?? "", user, attributes);
      return { allowed, reason: reasons[`${allowed}`] };
    },
  });
  /** Where an account is at home counts in kcp; its token says it. */
  const withHome = (user: User, token: string): User => {
    const account = user.name.startsWith("system:serviceaccount:") ? tokens.read(token, clock.now()) : undefined;
    if (account === undefined) return user;
    const scopes = {
      [homeClusterKey]: [account.cluster],
      "authentication.kcp.io/scopes": [`cluster:${account.cluster}`],
    };
    return { ...user, extra: { ...scopes, ...user.extra } };
  };
  const authenticate = (request: ApiRequest): User => {
    const token = /^bearer\s+(\S+)/i.exec(request.headers.authorization ?? "")?.[1];
    const user = authenticator.authenticate(request);
    return token === undefined ? user : withHome(user, token);
  };

  const access: Access = {
    decide: (cluster, user, attributes) => {
      const allowed = authorizer.decide(cluster, user, attributes);
      return { allowed, reason: reasons[`${allowed}`] };
    },
    rules: (cluster, user, namespace) => authorizer.rules(cluster, user, namespace),
    authenticateToken: (token) => {
      const user = authenticator.authenticateToken(token);
      return user === undefined ? undefined : withHome(user, token);
    },
    serviceAccountTokens: tokens,
  };

  const authorizerOf = (): KcpAuthorizer => authorizer;
  const systemHooks: Readonly<Record<string, ResourceHooks>> = {
    apiresourceschemas: resourceSchemaHooks,
    apiexports: apiExportHooks,
    apibindings: apiBindingHooks(directory, authorizerOf),
    logicalclusters: logicalClusterHooks,
  };
  const catalogs = createCatalogs({
    store,
    directory,
    // A workspace has no limit ranges, though a cluster does.
    common: [
      ...commonDefinitions(access).filter(({ plural }) => plural !== "limitranges"),
      ...systemDefinitions((plural) => systemHooks[plural]),
    ],
    custom: definitionsOf,
    hooksOf: (group, plural) =>
      group === "tenancy.kcp.io" && plural === "workspaces" ? workspaceHooks(directory, authorizerOf) : undefined,
    decorate: createEveryObjectRules(directory),
  });
  const authorizer = createAuthorizer({ store, directory, exportOfType: catalogs.exportOfType });
  const virtualWorkspaces = createVirtualWorkspaces({ directory, catalogs, authorizer });

  let delays: Delays = {};
  let stop = (): void => {};
  let settle = (): void => {};

  return {
    directory,
    catalogOf: catalogs.of,
    frontend: createKcpFrontend({ directory, catalogs, authorizer, virtualWorkspaces, authenticate }),
    start: (operations) => {
      const client = createSystemClient(operations, catalogs);
      const loop = createWorkLoop(clock, (key) => work(world, virtualWorkspaces, key));
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
      const endCustomDefinitions = startCustomDefinitions({
        store,
        operations,
        clock,
        definition: client.definition(systemTypes.customDefinitions, "root"),
      });
      const unsubscribe = store.subscribe(createTriggers(world));
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
