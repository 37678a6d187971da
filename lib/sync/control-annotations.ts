import type { Workload } from "./sync-objects.ts";
import type { Blocker } from "./targets/decide.ts";

/** By these annotations of a workload its owner says what TMC leaves alone. They only ever narrow a placement. */
export const controlAnnotations = {
  /** `disabled` or `paused`: nothing is written to any cluster. */
  sync: "tmc.kcp.io/sync",
  /** The only clusters, with commas. */
  targets: "tmc.kcp.io/target-clusters",
  /** Clusters that are left out, with commas. */
  excluded: "tmc.kcp.io/exclude-clusters",
  /** The holds, with commas, that somebody has confirmed: copies may go although many go at once. See `hold.ts`. */
  confirmed: "tmc.kcp.io/confirm-deletions",
} as const;

export type Controls = Readonly<{
  /** Why nothing is written to clusters; undefined when everything is. */
  stopped: Blocker | undefined;
  allows: (cluster: string) => boolean;
  /** Holds that were confirmed. */
  confirmed: ReadonlySet<string>;
}>;

/** Reads what the owner of a workload says. */
export function controlsOf(workload: Pick<Workload, "metadata"> | undefined): Controls {
  const annotations = workload?.metadata.annotations ?? {};
  const word = annotations[controlAnnotations.sync];
  const only = namesIn(annotations[controlAnnotations.targets]);
  const not = namesIn(annotations[controlAnnotations.excluded]);
  return {
    stopped: word === "disabled" ? stoppedBy("SyncDisabled") : word === "paused" ? stoppedBy("SyncPaused") : undefined,
    allows: (cluster) => (only === undefined || only.has(cluster)) && not?.has(cluster) !== true,
    confirmed: namesIn(annotations[controlAnnotations.confirmed]) ?? new Set(),
  };
}

function stoppedBy(reason: "SyncDisabled" | "SyncPaused"): Blocker {
  return { reason, message: "its owner has asked that nothing be written" };
}

function namesIn(text: string | undefined): ReadonlySet<string> | undefined {
  if (text === undefined) return undefined;
  return new Set(
    text
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
  );
}
