import type { Clock } from "@tmc/kube/clock.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { type EmbeddedServer, type ServerOptions, startServer } from "../embedded-server.ts";
import { textAt } from "../fields.ts";
import type { User } from "../http.ts";
import { generatedUid } from "../object-names.ts";
import { respondOpenApi } from "../openapi.ts";
import { type ControlPlane, createControlPlane } from "./control-plane.ts";
import type { Delays } from "./controllers/world.ts";
import { systemTypes } from "./system-client.ts";

/** A user with a token that never changes, as kcp's `--token-auth-file` has them. */
export type KcpUser = Readonly<{ token: string; name: string; uid?: string; groups?: readonly string[] }>;

export type EmbeddedKcpOptions = Readonly<{
  /** @default the machine's */
  clock?: Clock | undefined;
  /** For names, uids and identities. @default Math.random */
  random?: (() => number) | undefined;
  /** Over TLS on loopback too, not only inside the process. @default true */
  listen?: boolean | undefined;
  /** @default a free one */
  port?: number | undefined;
  /** Besides the admin. */
  users?: readonly KcpUser[] | undefined;
  /** @default none: everything is done at once */
  delays?: Delays | undefined;
  authority?: ServerOptions["authority"];
  history?: number | undefined;
}>;

/** A kcp in memory, with one shard and a root workspace. */
export type EmbeddedKcp = Omit<EmbeddedServer, "endpoint" | "transport"> &
  Readonly<{
    name: "kcp";
    /** The token of `kcp-admin`, who may do everything that is not kcp's alone. */
    adminToken: string;
    /** For clients over TLS, below a workspace's path: `endpoint("root:demo")`. The admin's unless a token is given. */
    endpoint(path?: string, token?: string): Endpoint;
    /** For clients inside the process. The admin's unless a token is given. */
    transport(token?: string): Transport;
    /** Makes a workspace and all that are missing above it, of the type universal; answers its logical cluster's name. */
    createWorkspace(path: string): string;
    /** Lets kcp's controllers do all that is waiting and not delayed, now. */
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

/** Starts an embedded kcp: ready, with the root workspace filled, when the promise resolves. */
export async function startEmbeddedKcp(options: EmbeddedKcpOptions = {}): Promise<EmbeddedKcp> {
  const { users = [], delays = {}, random = Math.random, ...server } = options;
  const adminToken = Array.from({ length: 32 }, () => Math.floor(random() * 16).toString(16)).join("");
  const admin: User = { name: "kcp-admin", uid: generatedUid(random), groups: ["system:kcp:admin"] };
  const tokens = new Map<string, User>([[adminToken, admin]]);
  for (const { token, name, uid, groups = [] } of users) {
    tokens.set(token, { name, ...(uid === undefined ? {} : { uid }), groups });
  }

  let made: ControlPlane | undefined;
  const running = await startServer({
    ...server,
    random,
    version,
    countsFirstRewrite: true,
    compose: ({ store, clock, url, authority }) => {
      made = createControlPlane({
        store,
        clock,
        random,
        tokens,
        delays,
        address: () => url,
        ca: () => authority.certificate,
      });
      return {
        frontend: made.frontend,
        catalogOf: made.catalogOf,
        stop: made.stop,
        respondPath: ({ catalog, path }) => {
          const answer = respondOpenApi(catalog, path);
          if (answer === undefined) return undefined;
          return { status: 200, headers: { "content-type": answer.contentType }, body: answer.body };
        },
      };
    },
  });
  if (made === undefined) throw new Error("embedded kcp: the server was not composed");
  const plane = made;
  const client = plane.start(running.operations);
  // As on a kcp that has just bootstrapped itself: nobody can resume from before.
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
        if (client.find(systemTypes.workspaces, { cluster: parent }, name) === undefined) {
          const owner = JSON.stringify({ username: admin.name });
          client.create(
            systemTypes.workspaces,
            { cluster: parent },
            {
              metadata: { name, annotations: { "experimental.tenancy.kcp.io/owner": owner } },
              spec: { type: { name: "universal", path: "root" } },
            },
          );
          plane.settle();
        }
        parent = textAt(client.find(systemTypes.workspaces, { cluster: parent }, name), "spec", "cluster");
      }
      return parent;
    },
  };
}
