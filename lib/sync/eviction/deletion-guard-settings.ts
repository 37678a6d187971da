import { type DeletionGuardSettings, defaultDeletionGuardSettings } from "./deletion-guard.ts";

/** The limits as an operator writes them; an omitted one has its default. */
export type DeletionGuardFlags = Readonly<{
  maxDeletions?: string | undefined;
  maxDeletionsPercent?: string | undefined;
}>;

/** The default limits as text, for help. */
export const deletionGuardDefaults = {
  maxDeletions: String(defaultDeletionGuardSettings.maxCopies),
  maxDeletionsPercent: String(defaultDeletionGuardSettings.maxPercent),
} as const;

/** The environment variables of functions. */
export const deletionGuardVariables = {
  maxDeletions: "TMC_MAX_DELETIONS",
  maxDeletionsPercent: "TMC_MAX_DELETIONS_PERCENT",
} as const;

/** The smallest and the largest value of each limit. */
export const deletionGuardRanges = { maxDeletions: [0, 1_000_000], maxDeletionsPercent: [0, 100] } as const;

/** Parses the limits. `onInvalid` is called for each invalid one, and its default applies. */
export function parseDeletionGuard(
  flags: DeletionGuardFlags,
  onInvalid: (flag: keyof DeletionGuardFlags, message: string) => void,
): DeletionGuardSettings {
  const parse = (flag: keyof DeletionGuardFlags): number | undefined => {
    const text = flags[flag]?.trim();
    if (text === undefined) return undefined;
    const [min, max] = deletionGuardRanges[flag];
    const value = /^[0-9]{1,7}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    onInvalid(flag, `"${text}" is not a whole number from ${min} to ${max}`);
    return undefined;
  };
  return {
    maxCopies: parse("maxDeletions") ?? defaultDeletionGuardSettings.maxCopies,
    maxPercent: parse("maxDeletionsPercent") ?? defaultDeletionGuardSettings.maxPercent,
    alwaysAllowed: defaultDeletionGuardSettings.alwaysAllowed,
  };
}
