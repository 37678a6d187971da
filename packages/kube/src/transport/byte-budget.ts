import { unlessAborted } from "../deadline.ts";

/**
 * Limits how many bytes of unfinished responses a group of clients keeps in memory. Responses that arrive while the budget is
 * used up are not read further until others end. The oldest unfinished response is always read, so that responses never wait
 * for each other; the group uses at most the budget and one more response.
 */
export interface ByteBudget {
  /** The bytes that are in use now. */
  readonly usedBytes: number;
  /** Begins a response. */
  open(): ByteLease;
}

/** The bytes that one response uses. */
export interface ByteLease {
  /** Takes this many bytes in all. Returns a promise if they have to wait for others; it rejects when the signal is aborted. */
  take(bytes: number, signal: AbortSignal): Promise<void> | undefined;
  /** Takes this many bytes in all if the budget has them now. For streams, which have no end that others could wait for. */
  tryTake(bytes: number): boolean;
  end(): void;
}

type Waiting = Readonly<{ bytes: number; grant: () => void }>;
type Lease = { used: number; waiting: Waiting | undefined };

/** Whether a response may use more bytes, next to those that are in use already. */
export function mayTake({
  usedBytes,
  moreBytes,
  maxBytes,
  isOldest,
}: Readonly<{ usedBytes: number; moreBytes: number; maxBytes: number; isOldest: boolean }>): boolean {
  return isOldest || moreBytes <= 0 || usedBytes + moreBytes <= maxBytes;
}

/** Creates an unused budget. */
export function createByteBudget(maxBytes: number): ByteBudget {
  /** Responses that use bytes or wait for some, the oldest first. Streams that never wait are not among them. */
  const responses = new Set<Lease>();
  let usedBytes = 0;

  const set = (lease: Lease, bytes: number): void => {
    usedBytes += bytes - lease.used;
    lease.used = bytes;
  };
  const isOldest = (lease: Lease): boolean => responses.values().next().value === lease;
  const may = (lease: Lease, bytes: number): boolean =>
    mayTake({ usedBytes, moreBytes: bytes - lease.used, maxBytes, isOldest: isOldest(lease) });
  const grantWaiting = (): void => {
    for (const lease of responses) {
      const { waiting } = lease;
      if (waiting === undefined || !may(lease, waiting.bytes)) continue;
      lease.waiting = undefined;
      set(lease, waiting.bytes);
      waiting.grant();
    }
  };
  return {
    get usedBytes() {
      return usedBytes;
    },
    open: () => {
      const lease: Lease = { used: 0, waiting: undefined };
      return {
        take: (bytes, signal) => {
          responses.add(lease);
          if (may(lease, bytes)) {
            set(lease, bytes);
            return undefined;
          }
          const { promise, resolve } = Promise.withResolvers<void>();
          lease.waiting = { bytes, grant: resolve };
          return unlessAborted(promise, signal);
        },
        tryTake: (bytes) => {
          if (!mayTake({ usedBytes, moreBytes: bytes - lease.used, maxBytes, isOldest: false })) return false;
          set(lease, bytes);
          grantWaiting();
          return true;
        },
        end: () => {
          responses.delete(lease);
          lease.waiting = undefined;
          set(lease, 0);
          grantWaiting();
        },
      };
    },
  };
}
