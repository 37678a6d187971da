import type { ClusterTaint } from "./observed.ts";

export type ClusterToleration = Readonly<{
  key?: string | undefined;
  operator?: "Equal" | "Exists" | undefined;
  value?: string | undefined;
  effect?: ClusterTaint["effect"] | undefined;
  tolerationSeconds?: number | undefined;
}>;

/** The toleration key that sets how long a placement tolerates a cluster that is not Ready. */
export const notReadyKey = "tmc.kcp.io/not-ready";
/**
 * How long a cluster that is not Ready is tolerated if neither placement nor registration says. It equals the default
 * toleration that Kubernetes adds to pods for nodes that are not ready.
 */
export const defaultNotReadySeconds = 300;

/**
 * Returns for how many seconds a taint is tolerated: undefined if not at all, Infinity if without limit. If several
 * tolerations match, the shortest time counts, as it does for pods.
 */
export function toleratedSeconds(
  tolerations: readonly ClusterToleration[],
  taint: Pick<ClusterTaint, "key" | "value" | "effect">,
): number | undefined {
  let seconds: number | undefined;
  for (const toleration of tolerations) {
    if (!tolerates(toleration, taint)) continue;
    const own = taint.effect === "NoExecute" ? (toleration.tolerationSeconds ?? Infinity) : Infinity;
    seconds = Math.min(seconds ?? Infinity, own);
  }
  return seconds;
}

/** `key=value:effect`, or `key:effect` without a value. */
export function formatTaint({ key, value, effect }: Pick<ClusterTaint, "key" | "value" | "effect">): string {
  return `${key}${value === "" ? "" : `=${value}`}:${effect}`;
}

function tolerates(
  { key = "", operator = "Equal", value = "", effect }: ClusterToleration,
  taint: Pick<ClusterTaint, "key" | "value" | "effect">,
): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  // Without a key only Exists is valid; Equal without a key tolerates nothing.
  if (key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === taint.value);
}
