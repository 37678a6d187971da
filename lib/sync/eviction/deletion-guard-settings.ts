import { type DeletionGuardSettings, defaultDeletionGuardSettings } from "./deletion-guard.ts";

/** The brake's limits as an operator writes them; what is not given stays as it is by default. */
export type DeletionGuardFlags = Readonly<{
  maxDeletions?: string | undefined;
  maxDeletionsPercent?: string | undefined;
}>;

/** The limits in words, for help texts. */
export const deletionGuardDefaults = {
  maxDeletions: String(defaultDeletionGuardSettings.maxCopies),
  maxDeletionsPercent: String(defaultDeletionGuardSettings.maxPercent),
} as const;

/** Where a function finds the limits. */
export const deletionGuardVariables = {
  maxDeletions: "TMC_MAX_DELETIONS",
  maxDeletionsPercent: "TMC_MAX_DELETIONS_PERCENT",
} as const;

/** What the limits can be. */
export const deletionGuardRanges = { maxDeletions: [0, 1_000_000], maxDeletionsPercent: [0, 100] } as const;

/** Reads the brake's limits; `wrong` hears of each that makes no sense, and the default then stands in for it. */
export function parseDeletionGuard(
  texts: DeletionGuardFlags,
  wrong: (which: keyof DeletionGuardFlags, why: string) => void,
): DeletionGuardSettings {
  const read = (which: keyof DeletionGuardFlags): number | undefined => {
    const text = texts[which]?.trim();
    if (text === undefined) return undefined;
    const [least, most] = deletionGuardRanges[which];
    const value = /^[0-9]{1,7}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    wrong(which, `"${text}" is not a whole number from ${least} to ${most}`);
    return undefined;
  };
  return {
    maxCopies: read("maxDeletions") ?? defaultDeletionGuardSettings.maxCopies,
    maxPercent: read("maxDeletionsPercent") ?? defaultDeletionGuardSettings.maxPercent,
    alwaysAllowed: defaultDeletionGuardSettings.alwaysAllowed,
  };
}
