import { type Observed, type ReadTools, readCopy } from "../observed.ts";
import { copyHealth } from "../status/health.ts";
import type { Outcome } from "../targets/apply.ts";
import type { Blocker } from "../targets/decide.ts";

/** Whether a workload runs everywhere it should, so that a copy elsewhere may go. */
export interface ReplacementCheck {
  /** As this look has seen it. What a watch tells may be a while old. */
  readonly isSeen: boolean;
  /** Asks the clusters themselves, right before something is removed; what is missing, or undefined when nothing is. */
  confirm(signal: AbortSignal): Promise<Blocker | undefined>;
}

/**
 * So many clusters are asked at most. With as many that are seen to be ready at the very moment, no copy that goes is the last
 * one; to ask a thousand of them for each copy would be no safer and cost a thousand calls.
 */
const mostAsked = 8;

/** Creates the check for one look at a workload; however many copies leave, the clusters are asked once. */
export function replacementCheck(
  tools: ReadTools,
  { scene, targets }: Readonly<{ scene: Observed; targets: ReadonlyMap<string, Outcome> }>,
): ReplacementCheck {
  const isSeen = [...targets.values()].every(({ record: { state }, isCurrent }) => isCurrent && state === "Ready");
  const { apiVersion, kind } = scene.type;
  const ask = async (signal: AbortSignal): Promise<Blocker | undefined> => {
    const names = [...targets.keys()].slice(0, mostAsked);
    const missing = await Promise.all(
      names.map(async (name) => {
        const sighting = await readCopy(tools, scene, name, signal, { isAsked: true });
        if (sighting.kind !== "there" || sighting.copy.isDeleting) return name;
        const { status, generation } = sighting.copy;
        const { spec } = targets.get(name) ?? {};
        return copyHealth({ apiVersion, kind, spec, status, generation }).state === "Ready" ? undefined : name;
      }),
    );
    const lacking = missing.filter((name) => name !== undefined);
    if (lacking.length === 0) return undefined;
    return {
      reason: "WaitingForReplacement",
      message: `it stays, because it is not ready on ${lacking.join(", ")} after all`,
    };
  };
  let asked: Promise<Blocker | undefined> | undefined;
  return {
    isSeen,
    confirm: (signal) => {
      asked ??= ask(signal);
      return asked;
    },
  };
}
