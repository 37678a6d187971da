import type { Taint } from "./observed.ts";

export type Toleration = Readonly<{
  key?: string | undefined;
  operator?: "Equal" | "Exists" | undefined;
  value?: string | undefined;
  effect?: Taint["effect"] | undefined;
  tolerationSeconds?: number | undefined;
}>;

/** The key under which a placement says how long it bears a cluster that is not Ready. */
export const notReadyKey = "tmc.kcp.io/not-ready";
/** How long a cluster that is not Ready is borne when nobody says: what Kubernetes gives a pod on a node. */
export const defaultNotReadySeconds = 300;

/**
 * For how many seconds a taint is borne: not at all is undefined, for ever is Infinity. Where several tolerations bear it
 * the shortest time counts, as it does for pods.
 */
export function toleratedSeconds(
  tolerations: readonly Toleration[],
  taint: Pick<Taint, "key" | "value" | "effect">,
): number | undefined {
  let seconds: number | undefined;
  for (const toleration of tolerations) {
    if (!bears(toleration, taint)) continue;
    const own = taint.effect === "NoExecute" ? (toleration.tolerationSeconds ?? Infinity) : Infinity;
    seconds = Math.min(seconds ?? Infinity, own);
  }
  return seconds;
}

/** `key=value:effect`, or `key:effect` without a value. */
export function formatTaint({ key, value, effect }: Pick<Taint, "key" | "value" | "effect">): string {
  return `${key}${value === "" ? "" : `=${value}`}:${effect}`;
}

function bears(
  { key = "", operator = "Equal", value = "", effect }: Toleration,
  taint: Pick<Taint, "key" | "value" | "effect">,
): boolean {
  if (effect !== undefined && effect !== taint.effect) return false;
  // Only Exists makes sense without a key; the same words with Equal bear nothing.
  if (key === "") return operator === "Exists";
  return key === taint.key && (operator === "Exists" || value === taint.value);
}
