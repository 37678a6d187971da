/** The value below which that share of the samples lies (nearest rank); NaN where there are none. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const rank = Math.min(sorted.length, Math.max(1, Math.ceil(share * sorted.length)));
  return sorted[rank - 1] ?? Number.NaN;
}

/** The middle one of the samples; one run that was disturbed does not move it. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** The mean that fits ratios: twice as fast and half as fast make one. */
export function geometricMean(ratios: readonly number[]): number {
  return Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
}
