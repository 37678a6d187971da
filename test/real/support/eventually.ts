import { setTimeout as delay } from "node:timers/promises";

/** Asks what is missing until nothing is; the time-out says what still was. */
export async function eventually(missing: () => Promise<string | undefined>, timeoutMs = 30_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const what = await missing();
    if (what === undefined) return;
    if (Date.now() > deadline) throw new Error(`after ${timeoutMs / 1000} s still missing: ${what}`);
    await delay(50);
  }
}
