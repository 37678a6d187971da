/**
 * Shares rows out among sections: who needs little gets all of it, the others as much as each other. None gets less than
 * `least`, even when that is more than there is.
 */
export function shareRows(needs: readonly number[], rows: number, least: number): readonly number[] {
  const order = needs.map((need, at) => ({ need, at })).toSorted((one, other) => one.need - other.need);
  const shares = needs.map(() => 0);
  let left = rows;
  for (const [done, { need, at }] of order.entries()) {
    const share = Math.min(need, Math.max(least, Math.floor(left / (order.length - done))));
    shares[at] = share;
    left = Math.max(0, left - share);
  }
  return shares;
}
