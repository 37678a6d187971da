/** When a workload counts as healthy: everywhere, anywhere, or on more than half of its clusters. */
export const healthRules = ["all", "any", "majority"] as const;
export type HealthRule = (typeof healthRules)[number];

export type OverallHealth = Readonly<{
  isHealthy: boolean;
  /** On how many clusters it is ready. */
  ready: number;
  /** On how many it should be. */
  expected: number;
  /** `2/3 clusters` */
  words: string;
}>;

/** Tells whether a workload is healthy by a rule; a cluster that is expected and not among the healths is not healthy. */
export function healthOfAll(
  rule: HealthRule,
  healths: readonly Readonly<{ state: string }>[],
  expected = healths.length,
): OverallHealth {
  const ready = healths.filter(({ state }) => state === "Ready").length;
  const enough = { all: expected, any: 1, majority: Math.floor(expected / 2) + 1 }[rule];
  // On no cluster nothing is healthy, whatever the rule.
  const isHealthy = expected > 0 && ready >= enough;
  return { isHealthy, ready, expected, words: `${ready}/${expected} clusters` };
}
