import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { neverAborted } from "@tmc/kube/deadline.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { createKubeClient } from "@tmc/kube/rest-client.ts";
import type { Endpoint, Transport, TransportRequest, TransportResponse } from "@tmc/kube/transport.ts";
import { fingerprintOf } from "../credentials/credentials.ts";
import { createRemembered, type Read } from "../credentials/expiring-cache.ts";

export type RenewedHubOptions = Readonly<{
  /** Where the credentials are, for messages: `secret tmc/kcp`. */
  place: string;
  /** Reads the credentials as they are now. */
  readEndpoint: () => Promise<Endpoint>;
  openTransport: (endpoint: Endpoint) => Transport;
  clock: Clock;
  random: () => number;
  /** How long they are used before they are read again. @default five minutes */
  rememberMs?: number | undefined;
  /** Hears that others than before are used from now on. */
  onRenewed?: (() => void) | undefined;
  /** Hears that they cannot be read; the last ones are used on. */
  onTrouble?: ((error: unknown) => void) | undefined;
}>;

/** A hub's credentials as they were read, with the connections that are made with them. */
type Way = Readonly<{ endpoint: Endpoint; fingerprint: string; transport: Transport }>;

const defaultRememberMs = 5 * 60_000;
const rememberWhileDownMs = 10_000;
/** However many calls the hub refuses, the credentials are read no more often than this. */
const shortestRereadMs = 5_000;

/**
 * Opens a hub with credentials that somebody else renews. They are read again after some minutes, and at once when the hub
 * refuses them: the refused call is then sent a second time, if there are others now. While they cannot be read the last
 * ones are used.
 *
 * Host, certificates and token may change so; the path below the host stays what it was at the start.
 */
export async function openRenewedHub(options: RenewedHubOptions): Promise<KubeClient> {
  const { place, readEndpoint, openTransport, clock, random, rememberMs = defaultRememberMs } = options;
  const remembered = createRemembered<Way>({ clock, random });
  let current: Way | undefined;
  let closed = false;
  let readAtMs = Number.NEGATIVE_INFINITY;
  let reading = false;

  const read = async (): Promise<Way> => {
    const endpoint = await readEndpoint();
    const token = (await endpoint.token?.())?.trim();
    // A control character would end the header; the token itself must not show in a message.
    if (token !== undefined && !/^[\x21-\x7e]+$/.test(token)) {
      throw new ControllerError("invalid", `${place}: token is empty or not plain text`);
    }
    const fingerprint = fingerprintOf(endpoint, token);
    if (current?.fingerprint === fingerprint) return current;
    const before = current;
    current = { endpoint, fingerprint, transport: openTransport(endpoint) };
    // Watches end with it and go on over the new one; a failure to close is of no use to anyone.
    before?.transport.close().catch(() => {});
    if (closed) await current.transport.close();
    if (before !== undefined) options.onRenewed?.();
    return current;
  };
  /** What was good a moment ago is better than nothing, even where the hub has refused it once. */
  const readOrKeep = async (): Promise<Read<Way>> => {
    reading = true;
    readAtMs = clock.now();
    try {
      return { value: await read(), rememberMs };
    } catch (error) {
      if (current === undefined) throw error;
      options.onTrouble?.(error);
      return { value: current, rememberMs: rememberWhileDownMs };
    } finally {
      reading = false;
    }
  };
  const way = (signal: AbortSignal = neverAborted): Promise<Way> => remembered.get(place, readOrKeep, signal);

  const sendBy = async ({ endpoint, transport }: Way, request: TransportRequest): Promise<TransportResponse> => {
    const token = (await endpoint.token?.())?.trim();
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    return transport.send({ ...request, headers: { ...request.headers, ...authorization } });
  };
  /** Reads again after a refusal; undefined when there is nothing new. */
  const otherWay = async (refused: Way, signal: AbortSignal | undefined): Promise<Way | undefined> => {
    if (current === refused && !reading) {
      if (clock.now() - readAtMs < shortestRereadMs) return undefined;
      remembered.forget(place);
    }
    const now = await way(signal);
    return now === refused ? undefined : now;
  };

  const transport: Transport = {
    send: async (request) => {
      const first = await way(request.signal);
      const response = await sendBy(first, request);
      if (response.status !== 401) return response;
      const other = await otherWay(first, request.signal);
      if (other === undefined) return response;
      response.cancel();
      return sendBy(other, request);
    },
    close: async () => {
      closed = true;
      await current?.transport.close();
    },
  };

  const { endpoint } = await way();
  const { server, impersonate } = endpoint;
  return createKubeClient({ endpoint: { server, impersonate }, transport, clock, random });
}
