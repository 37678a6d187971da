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
}>;

export const thorough: Settings = {
  starts: 5,
  concurrencies: [1, 16, 64],
  rounds: 2,
  turnMs: 350,
  burst: 5_000,
  singles: 400,
};

export const quick: Settings = {
  starts: 2,
  concurrencies: [16],
  rounds: 1,
  turnMs: 250,
  burst: 500,
  singles: 50,
};
