import { expect, test } from "vitest";
import { dieAtWrites, placing, runUndisturbed, syncing } from "./kill-at-every-write.ts";
import { hangTimeoutMs, startServers } from "./servers.ts";

test("a controller that dies at any write converges to the same state", {
  timeout: hangTimeoutMs,
}, async () => {
  const servers = await startServers();
  const { oracle, whole } = await runUndisturbed(placing, servers);
  expect(whole.violations).toEqual([]);
  expect(whole.writes).toBeGreaterThan(15);
  const writes = Array.from({ length: whole.writes }, (_, index) => index + 1);
  for await (const { nth, when, violations } of dieAtWrites(placing, { servers, oracle, writes })) {
    expect(violations, `killed ${when} write ${nth}`).toEqual([]);
  }
});

/** So many of the writes, evenly over the whole run; `npm run simulate -- --kill-at-every-write` takes all of them. */
const samples = 3;

test("a controller that dies at any write converges to the same state with twenty workloads on three clusters", {
  timeout: hangTimeoutMs,
}, async () => {
  const servers = await startServers();
  const { oracle, whole } = await runUndisturbed(syncing, servers);
  expect(whole.violations).toEqual([]);
  expect(oracle.sync.size).toBeGreaterThan(15);
  expect(whole.writes).toBeGreaterThan(200);
  const step = Math.floor(whole.writes / samples);
  const writes = Array.from({ length: samples }, (_, index) => 1 + index * step + (index % 3));
  for await (const { nth, when, violations } of dieAtWrites(syncing, { servers, oracle, writes })) {
    expect(violations, `killed ${when} write ${nth}`).toEqual([]);
  }
});
