import { setFlagsFromString } from "node:v8";

/**
 * Has the collector come sooner. Left alone, V8 lets a process that holds 15 MB grow to 300 before it looks: new objects
 * may fill 48 MB, old ones several times what was alive. A controller shares its node with others, and a little more
 * work for the collector costs it nothing that anyone notices (`npm run bench -- engine` shows both).
 *
 * Both flags are read each time the heap is about to grow, so they hold from the next collection on.
 */
export function keepMemoryLean(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
  setFlagsFromString("--heap-growing-percent=20");
}
