import { type Clock, systemClock } from "@tmc/kube/clock.ts";
import type { Endpoint, Transport } from "@tmc/kube/transport.ts";
import { type CertificateAuthority, createCertificateAuthority } from "./certificates.ts";
import type { Catalog } from "./definition.ts";
import { createFaults, type Faults } from "./faults.ts";
import type { Frontend } from "./frontend.ts";
import type { Handler } from "./http.ts";
import { createInProcessTransport } from "./in-process-transport.ts";
import { createListener } from "./listener.ts";
import { createMemoryStore } from "./memory-store.ts";
import { createOperations, type OperationsOptions } from "./object-operations.ts";
import type { Operations } from "./operations.ts";
import { createHandler, type HandlerOptions, type ServerVersion } from "./server.ts";
import type { Store } from "./store.ts";

/** What a server is made of, before it knows its places. */
export type ServerCore = Readonly<{
  store: Store;
  operations: Operations;
  faults: Faults;
  clock: Clock;
  random: () => number;
  authority: CertificateAuthority;
  /** Where it is reached: `https://127.0.0.1:41234`, or a name of no meaning where it does not listen. */
  url: string;
}>;

/** What makes a server a kcp or a cluster. */
export type Composition = Readonly<{
  frontend: Frontend;
  /** What a logical cluster serves; asked with the empty name on a plain cluster. */
  catalogOf: (cluster: string) => Catalog;
  health?: HandlerOptions["health"];
  respondPath?: HandlerOptions["respondPath"];
  /** Called once everything is in place: what the server starts with is created here. */
  start?: (() => void) | undefined;
  /** Called when the server stops, before its connections end. */
  stop?: (() => void) | undefined;
}>;

export type ServerOptions = Readonly<{
  version: ServerVersion;
  compose: (core: ServerCore) => Composition;
  /** @default the machine's */
  clock?: Clock | undefined;
  /** Over TLS on loopback too, not only inside the process. @default true */
  listen?: boolean | undefined;
  /** @default a free one */
  port?: number | undefined;
  /** For generated names and uids. @default Math.random */
  random?: (() => number) | undefined;
  /** Servers that trust each other's clients share one. @default its own */
  authority?: CertificateAuthority | undefined;
  /** How many changes of a type watches can resume over. @default 10000 */
  history?: number | undefined;
  countsFirstRewrite?: OperationsOptions["countsFirstRewrite"];
}>;

export type EmbeddedServer = ServerCore &
  Readonly<{
    /** PEM. */
    ca: string;
    handler: Handler;
    /** For clients over TLS; `path` is what comes before the ordinary paths (`/clusters/root:demo`). */
    endpoint: (options?: Readonly<{ token?: string; path?: string }>) => Endpoint;
    /** For clients inside the process. */
    transport: (options?: Readonly<{ token?: string }>) => Transport;
    stop: () => Promise<void>;
  }>;

/** Where a server that does not listen says it is; only in-process transports reach it. */
const unlistened = "https://embedded.invalid";

/** Starts an embedded server: store, operations, faults, handler and, where wanted, a listener. */
export async function startServer(options: ServerOptions): Promise<EmbeddedServer> {
  const { version, compose, clock = systemClock, listen = true, port, random = Math.random, history } = options;
  const authority = options.authority ?? createCertificateAuthority();
  const store = createMemoryStore(history === undefined ? {} : { history });
  const faults = createFaults({ clock });
  // The listener comes first because what is composed wants to know the address; nobody knows it before we answer.
  let handler: Handler | undefined;
  const listener = listen
    ? await createListener({ handler: (request) => ready(handler)(request), authority, port })
    : undefined;
  const url = listener?.url ?? unlistened;
  let composition: Composition | undefined;
  const operations = createOperations({
    store,
    clock,
    random,
    countsFirstRewrite: options.countsFirstRewrite,
    catalogOf: (cluster) => composition?.catalogOf(cluster) ?? emptyCatalog,
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
  const answers = handler;
  composed.start?.();
  return {
    ...core,
    ca: authority.certificate,
    handler: answers,
    endpoint: ({ token, path = "" } = {}) => ({
      server: `${url}${path}`,
      ca: authority.certificate,
      ...(token === undefined ? {} : { token: async () => token }),
    }),
    transport: ({ token } = {}) => createInProcessTransport({ handler: answers, token, clock }),
    stop: async () => {
      composed.stop?.();
      faults.clear();
      await listener?.close();
    },
  };
}

const emptyCatalog: Catalog = { definitions: () => [], find: () => undefined };

function ready(handler: Handler | undefined): Handler {
  if (handler === undefined) throw new Error("embedded server: asked before it was ready");
  return handler;
}
