import { unlessAborted } from "../deadline.ts";

/**
 * Limits how many bytes of unfinished responses a group of clients keeps in memory. Responses that arrive while the budget is
 * used up are not read further until others end. The oldest unfinished response is always read, so that responses never wait
 * for each other; the group holds at most the budget and one more response.
 */
export interface ByteBudget {
  /** The bytes that are held now. */
  readonly heldBytes: number;
  /** Begins a response. */
  open(): ByteLease;
}

/** The bytes that one response holds. */
export interface ByteLease {
  /** Holds this many bytes in all. Returns a promise if they have to wait for others; it rejects when the signal is aborted. */
  hold(bytes: number, signal: AbortSignal): Promise<void> | undefined;
  /** Holds this many bytes in all if the budget has them now. For streams, which have no end that others could wait for. */
  tryHold(bytes: number): boolean;
  end(): void;
}

type Waiting = Readonly<{ bytes: number; grant: () => void }>;
type Lease = { held: number; waiting: Waiting | undefined };

/** Whether a response may hold `more` bytes, next to the bytes that are held already. */
export function mayHold({
  heldBytes,
  moreBytes,
  maxBytes,
  isOldest,
}: Readonly<{ heldBytes: number; moreBytes: number; maxBytes: number; isOldest: boolean }>): boolean {
  return isOldest || moreBytes <= 0 || heldBytes + moreBytes <= maxBytes;
}

/** Creates a budget of which nothing is held. */
export function createByteBudget(maxBytes: number): ByteBudget {
  /** Responses that hold bytes or wait for some, the oldest first. Streams that never wait are not among them. */
  const responses = new Set<Lease>();
  let heldBytes = 0;

  const set = (lease: Lease, bytes: number): void => {
    heldBytes += bytes - lease.held;
    lease.held = bytes;
  };
  const isOldest = (lease: Lease): boolean => responses.values().next().value === lease;
  const may = (lease: Lease, bytes: number): boolean =>
    mayHold({ heldBytes, moreBytes: bytes - lease.held, maxBytes, isOldest: isOldest(lease) });
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
    get heldBytes() {
      return heldBytes;
    },
    open: () => {
      const lease: Lease = { held: 0, waiting: undefined };
      return {
        hold: (bytes, signal) => {
          responses.add(lease);
          if (may(lease, bytes)) {
            set(lease, bytes);
            return undefined;
          }
          const { promise, resolve } = Promise.withResolvers<void>();
          lease.waiting = { bytes, grant: resolve };
          return unlessAborted(promise, signal);
        },
        tryHold: (bytes) => {
          if (!mayHold({ heldBytes, moreBytes: bytes - lease.held, maxBytes, isOldest: false })) return false;
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
