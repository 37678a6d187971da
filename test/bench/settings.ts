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
  /** Tenants of one export that a relay looks after. */
  tenants: number;
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
};
