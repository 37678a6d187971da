/** A way to run the controller, as far as the cases that every way has to pass see it. */
export interface ControllerForm {
  /** Has it run: starts it where it was killed, and waits until it is ready. */
  running(): Promise<void>;
  /** Starts it, and lets it list and reconcile everything, even if it cannot become ready. */
  start(): Promise<void>;
  /** Has everything of it gone at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Whether it says that it is ready. */
  isReady(): Promise<boolean>;
  /** Waits until each of so many workloads was reconciled again without a change. */
  resynced(workloads: number): Promise<void>;
  /** How far from even it may deal fifty placements over two clusters: who decides alone deals evenly. */
  readonly unevenBy: number;
}
