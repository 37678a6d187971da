import { type BrakeSettings, defaultBrakeSettings } from "./deletion-guard.ts";

/** The brake's limits as an operator writes them; what is not given stays as it is by default. */
export type BrakeTexts = Readonly<{ mostDeletions?: string | undefined; mostDeletionsPercent?: string | undefined }>;

/** The limits in words, for help texts. */
export const brakeDefaults = {
  mostDeletions: String(defaultBrakeSettings.mostCopies),
  mostDeletionsPercent: String(defaultBrakeSettings.mostPercent),
} as const;

/** Where a function finds the limits. */
export const brakeVariables = {
  mostDeletions: "TMC_MOST_DELETIONS",
  mostDeletionsPercent: "TMC_MOST_DELETIONS_PERCENT",
} as const;

/** What the limits can be. */
export const brakeRanges = { mostDeletions: [0, 1_000_000], mostDeletionsPercent: [0, 100] } as const;

/** Reads the brake's limits; `wrong` hears of each that makes no sense, and the default then stands in for it. */
export function parseBrake(texts: BrakeTexts, wrong: (which: keyof BrakeTexts, why: string) => void): BrakeSettings {
  const read = (which: keyof BrakeTexts): number | undefined => {
    const text = texts[which]?.trim();
    if (text === undefined) return undefined;
    const [least, most] = brakeRanges[which];
    const value = /^[0-9]{1,7}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= least && value <= most) return value;
    wrong(which, `"${text}" is not a whole number from ${least} to ${most}`);
    return undefined;
  };
  return {
    mostCopies: read("mostDeletions") ?? defaultBrakeSettings.mostCopies,
    mostPercent: read("mostDeletionsPercent") ?? defaultBrakeSettings.mostPercent,
    alwaysAllowed: defaultBrakeSettings.alwaysAllowed,
  };
}
