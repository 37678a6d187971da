import { formatMebibytes } from "../transport/exchange.ts";
import type { ResponseLimits } from "../transport/transport-limits.ts";

/** Objects that informers keep, and the length of what they keep of them. */
export type Held = Readonly<{ objects: number; bytes: number }>;

/** Says why informers may not keep this much of one server; undefined if they may. */
export function heldExcess(
  { objects, bytes }: Held,
  { heldObjects, heldBytes }: Pick<ResponseLimits, "heldObjects" | "heldBytes">,
): string | undefined {
  if (objects > heldObjects) return `the cluster has more than ${heldObjects} objects to watch`;
  if (bytes > heldBytes) return `the objects to watch take more than ${formatMebibytes(heldBytes)}`;
  return undefined;
}

/** Counts what the informers of one server keep. */
export interface HeldAccount {
  readonly held: Held;
  /** Adds to what is kept; negative numbers take from it. */
  add(change: Held): void;
}

/** Creates an account of nothing. */
export function createHeldAccount(): HeldAccount {
  let [objects, bytes] = [0, 0];
  return {
    get held() {
      return { objects, bytes };
    },
    add: (change) => {
      objects += change.objects;
      bytes += change.bytes;
    },
  };
}
