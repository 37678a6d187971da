/** A way to run the controller, as far as the cases that every way has to pass see it. */
export interface ControllerForm {
  /** Has it run: starts it where it was killed, and waits until it is ready. */
  running(): Promise<void>;
  /** Has everything of it gone at once, in the middle of whatever it does. */
  kill(): Promise<void>;
  /** Whether it says that it is ready. */
  isReady(): Promise<boolean>;
  /** How far from even it may deal fifty placements over two clusters: who decides alone deals evenly. */
  readonly unevenBy: number;
}
