import type { Claim } from "./replica-claims.ts";

/**
 * Divides replicas by weight within everyone's min and max.
 *
 * Everyone's exact share is worked out first. Nobody is ever a whole replica or more away from it: shares are rounded down,
 * and what is left over goes, one each, to those who have it already, then to the largest fractions, then to who has more,
 * then by name. So among all such divisions this one moves the fewest, and a fraction that grew a little moves nothing.
 *
 * There must be enough for every min. The sum is less than the total only where nobody may take more.
 */
export function divide(total: number, claims: readonly Claim[]): ReadonlyMap<string, number> {
  const exact = exactShares(total, claims);
  const leftOver = exact.some(({ fraction }) => fraction > 0n) ? total - sumOf(exact.map(({ whole }) => whole)) : 0;
  const raised = new Set(
    exact
      .filter(({ fraction }) => fraction > 0n)
      .toSorted(byPriority)
      .slice(0, leftOver)
      .map(({ claim }) => claim.name),
  );
  return new Map(exact.map(({ claim: { name }, whole }) => [name, whole + (raised.has(name) ? 1 : 0)]));
}

/** A share before it is rounded: whole replicas and a fraction, counted in a unit that is the same for all. */
type ExactShare = Readonly<{ claim: Claim; whole: number; fraction: bigint }>;

function byPriority(one: ExactShare, other: ExactShare): number {
  // More than it can get is no better than all of it: otherwise a copy that shrinks would lose its turn half-way.
  const useful = ({ claim, whole }: ExactShare) => Math.min(claim.has, whole + 1);
  const hasIt = (share: ExactShare) => (useful(share) === share.whole + 1 ? 0 : 1);
  if (hasIt(one) !== hasIt(other)) return hasIt(one) - hasIt(other);
  if (one.fraction !== other.fraction) return one.fraction > other.fraction ? -1 : 1;
  return useful(other) - useful(one) || (one.claim.name < other.claim.name ? -1 : 1);
}

/**
 * The shares that are proportional to the weights, save where min or max forbids it. Each round gives those their bound
 * for whom it is certain by now that they will need it, and divides the rest anew among the others.
 */
function exactShares(total: number, claims: readonly Claim[]): readonly ExactShare[] {
  // Without a weight there is nothing beyond the min.
  const bound = new Map(claims.filter(({ weight }) => weight === 0n).map((claim) => [claim, claim.min]));
  for (;;) {
    const free = claims.filter((claim) => !bound.has(claim));
    const rest = BigInt(total - sumOf([...bound.values()]));
    const weights = free.reduce((sum, { weight }) => sum + weight, 0n);
    // Everything is multiplied by the sum of the weights, so that nothing is ever rounded here.
    const over = (claim: Claim) => rest * claim.weight - BigInt(claim.max) * weights;
    const under = (claim: Claim) => BigInt(claim.min) * weights - rest * claim.weight;
    const tooMuch = free.filter((claim) => over(claim) > 0n);
    const tooLittle = free.filter((claim) => under(claim) > 0n);
    if (tooMuch.length === 0 && tooLittle.length === 0) {
      return claims.map((claim) => {
        const whole = bound.get(claim);
        if (whole !== undefined) return { claim, whole, fraction: 0n };
        const share = rest * claim.weight;
        return { claim, whole: Number(share / weights), fraction: share % weights };
      });
    }
    const excess = tooMuch.reduce((sum, claim) => sum + over(claim), 0n);
    const shortage = tooLittle.reduce((sum, claim) => sum + under(claim), 0n);
    // More is missing than left over: the others will get less yet, so whoever is below the min stays below it.
    if (shortage >= excess) for (const claim of tooLittle) bound.set(claim, claim.min);
    else for (const claim of tooMuch) bound.set(claim, claim.max);
  }
}

/** Adds numbers. */
export function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}
