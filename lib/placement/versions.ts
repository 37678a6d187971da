/** A version, taken apart so that it can be compared. */
export type Version = Readonly<{ numbers: readonly number[]; isPreRelease: boolean }>;

/** Reads a version as people write it (`1.31`, `v1.31.2`, `12.4-rc.1`); undefined when it is none. */
export function parseVersion(text: string): Version | undefined {
  const [, digits, suffix] = /^v?([0-9]+(?:\.[0-9]+)*)(-[0-9A-Za-z.-]+)?(?:\+.*)?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  // Vendors put their own builds behind a hyphen too: `1.31.2-gke.1000` and `1.31.2-eks-abc` are releases.
  const isPreRelease = suffix !== undefined && /^-(?:alpha|beta|rc|dev|pre|snapshot)\b/i.test(suffix);
  return { numbers: digits.split(".").map(Number), isPreRelease };
}

/** Orders versions number by number, missing ones as zero, a pre-release below its release. */
export function compareVersionNumbers(one: Version, other: Version): number {
  const length = Math.max(one.numbers.length, other.numbers.length);
  for (let at = 0; at < length; at += 1) {
    const difference = (one.numbers[at] ?? 0) - (other.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(other.isPreRelease) - Number(one.isPreRelease);
}
