/** Size of one replica set. */
export type SetSize = Readonly<{ name: string; replicas: number; available: number }>;
export type RolloutBounds = Readonly<{ desired: number; maxSurge: number; maxUnavailable: number }>;
/** New sizes by name of the replica set. */
export type Scaling = ReadonlyMap<string, number>;

const total = (sets: readonly SetSize[], of: (set: SetSize) => number): number =>
  sets.reduce((sum, set) => sum + of(set), 0);

/**
 * Plans one step of a rolling update: the new replica set is scaled towards its size, or old ones are scaled down.
 * `old` is ordered by age; the oldest is scaled down first.
 */
export function planRollingStep(bounds: RolloutBounds, current: SetSize, old: readonly SetSize[]): Scaling {
  const { desired, maxSurge } = bounds;
  if (current.replicas > desired) return new Map([[current.name, desired]]);
  if (current.replicas < desired) {
    const room = desired + maxSurge - total([current, ...old], (set) => set.replicas);
    const grown = current.replicas + Math.max(0, Math.min(room, desired - current.replicas));
    if (grown !== current.replicas) return new Map([[current.name, grown]]);
  }
  return planScaleDown(bounds, current, old);
}

function planScaleDown({ desired, maxUnavailable }: RolloutBounds, current: SetSize, old: readonly SetSize[]): Scaling {
  const plan = new Map<string, number>();
  if (total(old, (set) => set.replicas) === 0) return plan;
  const minAvailable = desired - maxUnavailable;
  const newUnavailable = current.replicas - current.available;
  const most = total([current, ...old], (set) => set.replicas) - minAvailable - newUnavailable;
  if (most <= 0) return plan;

  // Unavailable pods go first.
  let cleaned = 0;
  const afterCleaning = old.map((set) => {
    const count = Math.max(0, Math.min(most - cleaned, set.replicas - set.available));
    cleaned += count;
    if (count > 0) plan.set(set.name, set.replicas - count);
    return { ...set, replicas: set.replicas - count };
  });

  let spare = total([current, ...old], (set) => set.available) - minAvailable;
  for (const set of afterCleaning) {
    const count = Math.max(0, Math.min(set.replicas, spare));
    if (count === 0) continue;
    spare -= count;
    plan.set(set.name, set.replicas - count);
  }
  return plan;
}

/**
 * Distributes a changed replica count over several active sets in proportion to their sizes, so that a rollout in
 * progress keeps its ratio.
 */
export function planProportional(
  { desired, maxSurge }: RolloutBounds,
  sets: readonly (SetSize & { maxReplicas: number })[],
): Scaling {
  const allowed = desired > 0 ? desired + maxSurge : 0;
  const toAdd = allowed - total(sets, (set) => set.replicas);
  // For equal sizes, scaling up favors the newest and scaling down the oldest; `sets` are newest first.
  const ordered = (toAdd > 0 ? sets : sets.toReversed()).toSorted((a, b) => b.replicas - a.replicas);
  let added = 0;
  const sizes = ordered.map((set) => {
    if (toAdd === 0 || set.replicas === 0) return set.replicas;
    const share =
      desired === 0
        ? -set.replicas
        : Math.round((set.replicas * (desired + maxSurge)) / set.maxReplicas) - set.replicas;
    const change = toAdd > 0 ? Math.min(share, toAdd - added) : Math.max(share, toAdd - added);
    added += change;
    return set.replicas + change;
  });
  const leftover = toAdd - added;
  return new Map(
    ordered.map((set, index) => [set.name, Math.max(0, (sizes[index] ?? 0) + (index === 0 ? leftover : 0))]),
  );
}
