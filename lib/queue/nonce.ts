import type { Clock } from "@tmc/kube/clock.ts";

/**
 * Creates a source of short texts that do not come twice: time, a count, and a number that tells this process from
 * others which began in the same moment.
 */
export function createNonces({ clock, random }: Readonly<{ clock: Clock; random: () => number }>): () => string {
  const own = Math.floor(random() * 36 ** 6).toString(36);
  let count = 0;
  return () => {
    count += 1;
    return [clock.now().toString(36), own, count.toString(36)].join(".");
  };
}
