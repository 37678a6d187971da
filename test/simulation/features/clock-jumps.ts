import type { Feature } from "./feature.ts";

const minuteMs = 60_000;

/** The wall clock of a running controller jumps, as after a wrong time server; the monotonic clock does not. */
export const clockJumps: Feature = {
  name: "clock-jumps",
  share: 0.1,
  isDirectOnly: true,
  steps: (seeded, { endMs }) =>
    Array.from({ length: seeded.between(1, 4) }, () => {
      const size = seeded.pick([1, 3, 20, 120, 360]) * minuteMs;
      return {
        atMs: seeded.between(0, endMs),
        fault: {
          kind: "clock-jump",
          byMs: seeded.chance(0.5) ? size : -size,
          forMs: seeded.pick([5_000, minuteMs, 10 * minuteMs]),
        },
      };
    }),
};
