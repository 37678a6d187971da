import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint, Transport, TransportRequest, TransportResponse } from "@tmc/kube/transport/transport.ts";
import { hashEndpoint } from "../credentials/credentials.ts";
import { type CacheRead, createExpiringCache } from "../credentials/expiring-cache.ts";

export type RenewingHubOptions = Readonly<{
  /** The source of the credentials in messages: `secret tmc/kcp`. */
  source: string;
  /** Reads the current credentials. */
  readEndpoint: () => Promise<Endpoint>;
  openTransport: (endpoint: Endpoint) => Transport;
  clock: Clock;
  random: () => number;
  /** How long credentials are used before they are read again. @default five minutes */
  ttlMs?: number | undefined;
  /** Called when other credentials than before are used. */
  onRenewed?: (() => void) | undefined;
  /** Called when the credentials cannot be read; the last ones stay in use. */
  onFailure?: ((error: unknown) => void) | undefined;
}>;

/** Credentials and the connections that use them. */
type Connection = Readonly<{ endpoint: Endpoint; fingerprint: string; transport: Transport }>;

const defaultTtlMs = 5 * 60_000;
const ttlAfterFailureMs = 10_000;
/** The credentials are read no more often than this, however many requests the server rejects. */
const minRereadMs = 5_000;

/**
 * Opens a client with credentials that are renewed outside of this process. They are read again after some minutes, and at once
 * when the server answers 401: that request is sent a second time if the credentials have changed. While they cannot be read
 * the last ones stay in use.
 *
 * Host, certificates and token may change; the path below the host stays the one of the start.
 */
export async function openRenewingHub(options: RenewingHubOptions): Promise<KubeClient> {
  const { source, readEndpoint, openTransport, clock, random, ttlMs = defaultTtlMs } = options;
  const connections = createExpiringCache<Connection>({ clock, random });
  let current: Connection | undefined;
  let closed = false;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading = false;

  const read = async (): Promise<Connection> => {
    const endpoint = await readEndpoint();
    const token = (await endpoint.token?.())?.trim();
    // A control character would end the header. The message must not contain the token.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new ControllerError("invalid", `${source}: token is empty or not plain text`);
    }
    const fingerprint = hashEndpoint(endpoint, token);
    if (current?.fingerprint === fingerprint) return current;
    const before = current;
    current = { endpoint, fingerprint, transport: openTransport(endpoint) };
    // Its watches end and reconnect on the new transport. A failure to close has no consequence.
    before?.transport.close().catch(() => {});
    if (closed) await current.transport.close();
    if (before !== undefined) options.onRenewed?.();
    return current;
  };
  /** Keeps the last credentials if the read fails, even if the server has rejected them once. */
  const readOrKeep = async (): Promise<CacheRead<Connection>> => {
    reading = true;
    readAtMs = clock.monotonicMs();
    try {
      return { value: await read(), ttlMs };
    } catch (error) {
      if (current === undefined) throw error;
      options.onFailure?.(error);
      return { value: current, ttlMs: ttlAfterFailureMs };
    } finally {
      reading = false;
    }
  };
  const connect = (signal: AbortSignal = neverAborted): Promise<Connection> =>
    connections.get(source, readOrKeep, signal);

  const sendOn = async ({ endpoint, transport }: Connection, request: TransportRequest): Promise<TransportResponse> => {
    const token = (await endpoint.token?.())?.trim();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return transport.send({ ...request, headers: { ...request.headers, ...authorization } });
  };
  /** Reads the credentials again after a 401; undefined if they have not changed. */
  const renewedAfter = async (
    rejected: Connection,
    signal: AbortSignal | undefined,
  ): Promise<Connection | undefined> => {
    if (current === rejected && !reading) {
      if (clock.monotonicMs() - readAtMs < minRereadMs) return undefined;
      connections.invalidate(source);
    }
    const latest = await connect(signal);
    return latest === rejected ? undefined : latest;
  };

  const transport: Transport = {
    send: async (request) => {
      const first = await connect(request.signal);
      const response = await sendOn(first, request);
      if (response.status !== 401) return response;
      const renewed = await renewedAfter(first, request.signal);
      if (renewed === undefined) return response;
      response.cancel();
      return sendOn(renewed, request);
    },
    close: async () => {
      closed = true;
      await current?.transport.close();
    },
  };

  const { endpoint } = await connect();
  const { server, impersonate } = endpoint;
  return createKubeClient({ endpoint: { server, impersonate }, transport, clock, random });
}
