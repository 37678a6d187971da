import { type Observed, type ReadTools, readCopy } from "../observed.ts";
import { copyHealth } from "../status/health.ts";
import type { CopyOutcome } from "../targets/apply.ts";
import type { Blocker } from "../targets/decide.ts";

/** Whether a workload is ready on all of its target clusters, so that a copy elsewhere may be evicted. */
export interface ReplacementCheck {
  /** By the copies as this reconcile has read them. A watch cache may be a while old. */
  readonly isReplaced: boolean;
  /** Reads the copies from the clusters themselves, right before a deletion; returns a blocker when one is not ready. */
  confirm(signal: AbortSignal): Promise<Blocker | undefined>;
}

/**
 * How many clusters `confirm` reads at most. With that many copies just read as ready, no deleted copy is the last one;
 * reading a thousand clusters for each deletion would be no safer.
 */
const maxConfirmedClusters = 8;

/** Creates the check for one reconcile; the clusters are read once, however many copies are evicted. */
export function replacementCheck(
  tools: ReadTools,
  { observed, targets }: Readonly<{ observed: Observed; targets: ReadonlyMap<string, CopyOutcome> }>,
): ReplacementCheck {
  const isReplaced = [...targets.values()].every(({ record: { state }, isCurrent }) => isCurrent && state === "Ready");
  const { apiVersion, kind } = observed.type;
  const readTargets = async (signal: AbortSignal): Promise<Blocker | undefined> => {
    const names = [...targets.keys()].slice(0, maxConfirmedClusters);
    const results = await Promise.all(
      names.map(async (name) => {
        const downstreamState = await readCopy(tools, observed, name, signal, { isUncached: true });
        if (downstreamState.kind !== "there" || downstreamState.copy.isDeleting) return name;
        const { status, generation } = downstreamState.copy;
        const { spec } = targets.get(name) ?? {};
        return copyHealth({ apiVersion, kind, spec, status, generation }).state === "Ready" ? undefined : name;
      }),
    );
    const notReady = results.filter((name) => name !== undefined);
    if (notReady.length === 0) return undefined;
    const message = `the copy is kept, because the workload is not ready on ${notReady.join(", ")}`;
    return { reason: "WaitingForReplacement", message };
  };
  let confirmation: Promise<Blocker | undefined> | undefined;
  return {
    isReplaced,
    confirm: (signal) => {
      confirmation ??= readTargets(signal);
      return confirmation;
    },
  };
}
