import type { KubeObject } from "@tmc/kube/kube-object.ts";

/** Tells whether a registration is to be probed in this round, or waits for the time that its breaker names. */
export function isHeartbeatDue(
  { status }: KubeObject,
  { nowMs, periodSeconds }: Readonly<{ nowMs: number; periodSeconds: number }>,
): boolean {
  const next = nextProbeMs(status);
  // Turns and probes are a little apart: one that is due before the next turn is nearer to this one.
  return next === undefined || next <= nowMs + periodSeconds * 500;
}

function nextProbeMs(status: unknown): number | undefined {
  if (typeof status !== "object" || status === null || !("nextProbeTime" in status)) return undefined;
  const ms = typeof status.nextProbeTime === "string" ? Date.parse(status.nextProbeTime) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
