import type { Clock } from "@tmc/kube/clock.ts";
import { textAt } from "@tmc/kube/json.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import { respondOpenApi } from "../definitions/openapi.ts";
import { type EmbeddedServer, type ServerOptions, startServer } from "../server/embedded-server.ts";
import type { User } from "../server/http.ts";
import { generatedUid } from "../storage/object-names.ts";
import { type ControlPlane, createControlPlane } from "./control-plane.ts";
import type { KcpDelays } from "./controllers/world.ts";
import { systemTypes } from "./system-client.ts";

/** A user with a static token, as in kcp's `--token-auth-file`. */
export type KcpUser = Readonly<{ token: string; name: string; uid?: string; groups?: readonly string[] }>;

export type EmbeddedKcpOptions = Readonly<{
  /** @default the system clock */
  clock?: Clock | undefined;
  /** For generated names, uids and identities. @default Math.random */
  random?: (() => number) | undefined;
  /** Whether to listen on loopback with TLS, in addition to the in-process transport. @default true */
  listen?: boolean | undefined;
  /** @default a free port */
  port?: number | undefined;
  /** Users in addition to the admin. */
  users?: readonly KcpUser[] | undefined;
  /** @default none: controllers act immediately */
  delays?: KcpDelays | undefined;
  authority?: ServerOptions["authority"];
  history?: number | undefined;
}>;

/** An in-memory kcp with one shard and a root workspace. */
export type EmbeddedKcp = Omit<EmbeddedServer, "endpoint" | "transport"> &
  Readonly<{
    name: "kcp";
    /** The token of `kcp-admin`. This user may do everything except writes that are reserved for kcp. */
    adminToken: string;
    /**
     * Endpoint of a workspace for clients over TLS: `endpoint("root:demo")`. @default the root workspace and the
     * admin's token
     */
    endpoint(path?: string, token?: string): Endpoint;
    /** Transport for clients in the same process. @default the admin's token */
    transport(token?: string): Transport;
    /** Creates a workspace of the type `universal`, and missing parents; returns the name of its logical cluster. */
    createWorkspace(path: string): string;
    /** Runs all queued reconciles of kcp's controllers now, except delayed ones. */
    settle(): void;
  }>;

const version = {
  major: "1",
  minor: "35",
  emulationMajor: "1",
  emulationMinor: "35",
  minCompatibilityMajor: "1",
  minCompatibilityMinor: "34",
  gitVersion: "v1.35.1+kcp-v0.31.2",
  gitCommit: "v0.31.2",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "go1.26.8",
  compiler: "gc",
  platform: "linux/amd64",
};

/** Starts an embedded kcp. The root workspace is ready when the promise resolves. */
export async function startEmbeddedKcp(options: EmbeddedKcpOptions = {}): Promise<EmbeddedKcp> {
  const { users = [], delays = {}, random = Math.random, ...server } = options;
  const adminToken = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
  const admin: User = { name: "kcp-admin", uid: generatedUid(random), groups: ["system:kcp:admin"] };
  const tokens = new Map<string, User>([[adminToken, admin]]);
  for (const { token, name, uid, groups = [] } of users) {
    tokens.set(token, { name, ...(uid === undefined ? {} : { uid }), groups });
  }

  let composed: ControlPlane | undefined;
  const running = await startServer({
    ...server,
    random,
    version,
    firstUpdateAlwaysWrites: true,
    compose: ({ store, clock, url, authority }) => {
      composed = createControlPlane({
        store,
        clock,
        random,
        tokens,
        delays,
        address: () => url,
        ca: () => authority.certificate,
      });
      return {
        frontend: composed.frontend,
        catalogOf: composed.catalogOf,
        stop: composed.stop,
        respondPath: ({ catalog, path }) => {
          const document = respondOpenApi(catalog, path);
          if (document === undefined) return undefined;
          return { status: 200, headers: { "content-type": document.contentType }, body: document.body };
        },
      };
    },
  });
  if (composed === undefined) throw new Error("embedded kcp: the server was not composed");
  const plane = composed;
  const client = plane.start(running.operations);
  // As with a real kcp after its bootstrap: watches cannot resume from earlier revisions.
  running.store.compact();

  return {
    ...running,
    name: "kcp",
    adminToken,
    endpoint: (path = "root", token = adminToken) => running.endpoint({ token, path: `/clusters/${path}` }),
    transport: (token = adminToken) => running.transport({ token }),
    settle: plane.settle,
    createWorkspace: (path) => {
      const [root = "root", ...names] = path.split(":");
      let parent = root;
      for (const name of names) {
        if (client.find(systemTypes.workspaces, { logicalCluster: parent }, name) === undefined) {
          const owner = JSON.stringify({ username: admin.name });
          client.create(
            systemTypes.workspaces,
            { logicalCluster: parent },
            {
              metadata: { name, annotations: { "experimental.tenancy.kcp.io/owner": owner } },
              spec: { type: { name: "universal", path: "root" } },
            },
          );
          plane.settle();
        }
        parent = textAt(client.find(systemTypes.workspaces, { logicalCluster: parent }, name), "spec", "cluster");
      }
      return parent;
    },
  };
}
