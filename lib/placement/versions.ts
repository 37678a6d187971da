/** A version in comparable form. */
export type Version = Readonly<{ numbers: readonly number[]; isPreRelease: boolean }>;

/** Parses a version (`1.31`, `v1.31.2`, `12.4-rc.1`); returns undefined for any other text. */
export function parseVersion(text: string): Version | undefined {
  const [, digits, suffix] = /^v?([0-9]+(?:\.[0-9]+)*)(-[0-9A-Za-z.-]+)?(?:\+.*)?$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  // Vendors put build numbers after a hyphen too: `1.31.2-gke.1000` and `1.31.2-eks-abc` are releases.
  const isPreRelease = suffix !== undefined && /^-(?:alpha|beta|rc|dev|pre|snapshot)\b/i.test(suffix);
  return { numbers: digits.split(".").map(Number), isPreRelease };
}

/** Compares versions number by number. A missing number counts as zero; a pre-release sorts before its release. */
export function compareVersionNumbers(one: Version, other: Version): number {
  const length = Math.max(one.numbers.length, other.numbers.length);
  for (let index = 0; index < length; index += 1) {
    const difference = (one.numbers[index] ?? 0) - (other.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return Number(other.isPreRelease) - Number(one.isPreRelease);
}
