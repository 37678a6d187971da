/** How much is measured. */
export type Settings = Readonly<{
  /** Fresh processes per way of starting. */
  starts: number;
  concurrencies: readonly number[];
  /** How often each client has its turn at each call. */
  rounds: number;
  /** How long a turn lasts. */
  turnMs: number;
  /** Objects in a burst of watch events. */
  burst: number;
  /** Objects whose way from create to event is timed one by one. */
  singles: number;
  /** Placements that are created at once. */
  placements: number;
  /** Changes of placements that are timed one by one. */
  changes: number;
  /** How long a controller is watched while nothing happens. */
  restSeconds: number;
  /** Placements with which memory is measured: so many made at once, and so many in all. */
  crowdSizes: readonly [number, number];
  /** Tenants of one export that a relay serves. */
  tenants: number;
  /** Tenants that change one object each beside a noisy one. */
  quietTenants: number;
  /** What the noisy one does, in several parts with rest between them: what else happens on the machine then comes to both. */
  noise: Readonly<{ events: number; perSecond: number; parts: number }>;
  /** Deployments that are put on clusters: one by one, at once on two clusters, at once over all of them, and in all. */
  synced: Readonly<{ singles: number; burst: number; many: number; crowd: number }>;
  /** Objects of a resync, one measurement each. */
  resynced: readonly number[];
}>;

export const thorough: Settings = {
  starts: 5,
  concurrencies: [1, 16, 64],
  rounds: 2,
  turnMs: 350,
  burst: 5_000,
  singles: 400,
  placements: 1_000,
  changes: 300,
  restSeconds: 15,
  crowdSizes: [1_000, 10_000],
  tenants: 200,
  quietTenants: 20,
  noise: { events: 100_000, perSecond: 2_000, parts: 10 },
  synced: { singles: 60, burst: 300, many: 1_000, crowd: 10_000 },
  resynced: [20_000, 200_000],
};

export const quick: Settings = {
  starts: 2,
  concurrencies: [16],
  rounds: 1,
  turnMs: 250,
  burst: 500,
  singles: 50,
  placements: 200,
  changes: 40,
  restSeconds: 6,
  crowdSizes: [200, 1_000],
  tenants: 20,
  quietTenants: 20,
  noise: { events: 16_000, perSecond: 2_000, parts: 4 },
  synced: { singles: 15, burst: 100, many: 200, crowd: 500 },
  resynced: [5_000],
};
