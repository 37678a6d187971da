import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport/transport.ts";
import type { Catalog } from "../definitions/definition.ts";
import { createMemoryStore } from "../storage/memory-store.ts";
import { createOperations, type OperationsOptions } from "../storage/object-operations.ts";
import type { Operations } from "../storage/operations.ts";
import type { RestoreOptions, Store, StoreSnapshot } from "../storage/store.ts";
import { type CertificateAuthority, createCertificateAuthority } from "../tls/certificates.ts";
import { createFaults, type Faults } from "./faults.ts";
import type { Frontend } from "./frontend.ts";
import { createHandler, type HandlerOptions, type ServerVersion } from "./handler.ts";
import type { Handler } from "./http.ts";
import { createInProcessTransport } from "./in-process-transport.ts";
import { createListener } from "./listener.ts";

/** The parts of a server that exist before it is composed. */
export type ServerCore = Readonly<{
  store: Store;
  operations: Operations;
  faults: Faults;
  clock: Clock;
  random: () => number;
  authority: CertificateAuthority;
  /** `https://127.0.0.1:41234`, or a placeholder if the server does not listen. */
  url: string;
}>;

/** The parts that turn a server into a kcp or a cluster. */
export type Composition = Readonly<{
  frontend: Frontend;
  /** Returns the types of a logical cluster; the name is empty on a Kubernetes cluster. */
  catalogOf: (logicalCluster: string) => Catalog;
  health?: HandlerOptions["health"];
  respondPath?: HandlerOptions["respondPath"];
  /** Called when all parts exist; creates the initial objects. */
  start?: (() => void) | undefined;
  /** Called before connections are closed. */
  stop?: (() => void) | undefined;
}>;

export type ServerOptions = Readonly<{
  version: ServerVersion;
  compose: (core: ServerCore) => Composition;
  /** @default the system clock */
  clock?: Clock | undefined;
  /** Whether to listen on loopback with TLS, in addition to the in-process transport. @default true */
  listen?: boolean | undefined;
  /** @default a free port */
  port?: number | undefined;
  /** For generated names and uids. @default Math.random */
  random?: (() => number) | undefined;
  /** Servers that share an authority trust each other's client certificates. @default its own */
  authority?: CertificateAuthority | undefined;
  /** How many changes per type watches can resume over. @default 10000 */
  history?: number | undefined;
  firstUpdateAlwaysWrites?: OperationsOptions["firstUpdateAlwaysWrites"];
}>;

export type EmbeddedServer = ServerCore &
  Readonly<{
    /** CA certificate, PEM. */
    ca: string;
    handler: Handler;
    /** Endpoint for clients over TLS; `path` is a prefix such as `/clusters/root:demo`. */
    endpoint: (options?: Readonly<{ token?: string; path?: string }>) => Endpoint;
    /** Transport for clients in the same process. */
    transport: (options?: Readonly<{ token?: string }>) => Transport;
    /** The objects as they are now, as a backup of etcd has them. */
    snapshot: () => StoreSnapshot;
    /** Goes back to a snapshot, as a server that is restored from a backup: open watches are reset. */
    restore: (snapshot: StoreSnapshot, options?: RestoreOptions) => void;
    stop: () => Promise<void>;
  }>;

/** URL of a server that does not listen; only in-process transports reach it. */
const unreachableUrl = "https://embedded.invalid";

/** Starts an embedded server: store, operations, faults, handler and optionally a listener. */
export async function startServer(options: ServerOptions): Promise<EmbeddedServer> {
  const { version, compose, clock = systemClock, listen = true, port, random = Math.random, history } = options;
  const authority = options.authority ?? createCertificateAuthority();
  const store = createMemoryStore(history === undefined ? {} : { history });
  const faults = createFaults({ clock });
  // The listener is first because `compose` needs the address, which clients learn only after this function returns.
  let handler: Handler | undefined;
  const listener = listen
    ? await createListener({ handler: (request) => requireHandler(handler)(request), authority, port })
    : undefined;
  const url = listener?.url ?? unreachableUrl;
  let composition: Composition | undefined;
  const operations = createOperations({
    store,
    clock,
    random,
    firstUpdateAlwaysWrites: options.firstUpdateAlwaysWrites,
    catalogOf: (logicalCluster) => composition?.catalogOf(logicalCluster) ?? emptyCatalog,
  });
  const core: ServerCore = { store, operations, faults, clock, random, authority, url };
  const composed = compose(core);
  composition = composed;
  handler = createHandler({
    frontend: composed.frontend,
    operations,
    store,
    clock,
    faults,
    version,
    random,
    health: composed.health,
    respondPath: composed.respondPath,
  });
  const readyHandler = handler;
  composed.start?.();
  return {
    ...core,
    ca: authority.certificate,
    handler: readyHandler,
    endpoint: ({ token, path = "" } = {}) => ({
      server: `${url}${path}`,
      ca: authority.certificate,
      ...(token === undefined ? {} : { token: async () => token }),
    }),
    transport: ({ token } = {}) => createInProcessTransport({ handler: readyHandler, token, clock }),
    snapshot: store.snapshot,
    restore: (snapshot, restoreOptions) => {
      faults.cutWatches();
      store.restore(snapshot, restoreOptions);
    },
    stop: async () => {
      composed.stop?.();
      faults.clear();
      await listener?.close();
    },
  };
}

const emptyCatalog: Catalog = { definitions: () => [], find: () => undefined };

function requireHandler(handler: Handler | undefined): Handler {
  if (handler === undefined) throw new Error("embedded server: request before the handler was ready");
  return handler;
}
