import { expect, it } from "vitest";
import { type CallOptions, createTestCore, type TestCore } from "./test-core.ts";

export type Call = readonly [method: string, url: string, options?: CallOptions];

/** A request that a server rejects, and the expected error. */
export type Rejection = Readonly<{
  /** Requests before it. */
  given?: readonly Call[];
  call: Call;
  code: number;
  reason?: string;
  message: string;
  details?: unknown;
}>;

/** Creates a server and sends these requests, which must succeed. */
export async function prepare(calls: readonly Call[] = []): Promise<TestCore> {
  const core = createTestCore();
  for (const call of calls) {
    const { status, text } = await core.call(...call);
    expect(status, text).toBeLessThan(300);
  }
  return core;
}

/** Tests that a server rejects each request with the expected code, message and details, and writes nothing. */
export function itRejects(rejections: Readonly<Record<string, Rejection>>): void {
  for (const [rule, { given, call, code, reason, message, details }] of Object.entries(rejections)) {
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
