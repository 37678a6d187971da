import { setTimeout as delay } from "node:timers/promises";

/** Repeats `missing` until it returns undefined; the time-out error contains what was still missing. */
export async function eventually(missing: () => Promise<string | undefined>, limitMs = 15_000): Promise<void> {
  const end = Date.now() + limitMs;
  for (;;) {
    const answer = await missing();
    if (answer === undefined) return;
    if (Date.now() > end) throw new Error(`after ${limitMs} ms: ${answer}`);
    await delay(25);
  }
}
