import { expect, it } from "vitest";
import { type CallOptions, createTestCore, type TestCore } from "./embedded-core.ts";

export type Call = readonly [method: string, url: string, options?: CallOptions];

/** A request that a server refuses, and its words. */
export type Refusal = Readonly<{
  /** What happens before. */
  given?: readonly Call[];
  call: Call;
  code: number;
  reason?: string;
  message: string;
  details?: unknown;
}>;

/** A server after these calls, all of which must have succeeded. */
export async function prepare(calls: readonly Call[] = []): Promise<TestCore> {
  const core = createTestCore();
  for (const call of calls) {
    const { status, text } = await core.call(...call);
    expect(status, text).toBeLessThan(300);
  }
  return core;
}

/** Holds a server to its refusals: code, words, details, and that nothing was written. */
export function itRefuses(refusals: Readonly<Record<string, Refusal>>): void {
  for (const [rule, { given, call, code, reason, message, details }] of Object.entries(refusals)) {
    it(rule, async () => {
      const core = await prepare(given);
      const before = core.store.revision;
      const { status, body } = await core.call(...call);
      expect(body).toMatchObject({ kind: "Status", apiVersion: "v1", status: "Failure", message, code });
      expect(status).toBe(code);
      if (reason !== undefined) expect(body).toMatchObject({ reason });
      if (details !== undefined) expect((body as { details: unknown }).details).toEqual(details);
      expect(core.store.revision).toBe(before);
    });
  }
}
