import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reconciledKinds } from "../../../lib/model/key.ts";
import { reasons } from "../../../lib/model/work-item.ts";
import {
  collapseMessages,
  countFailure,
  type DelayedMessage,
  deduplicationIdOf,
  formatBody,
  groupOf,
  mostCounted,
  needsNonce,
  parseBody,
  type WorkMessage,
} from "../../../lib/queue/work-message.ts";

const east: WorkMessage = {
  key: { logicalCluster: "1k2x", kind: "ClusterRegistration", name: "east" },
  reason: "changed",
  resourceVersion: "17",
};

const anyMessage: fc.Arbitrary<DelayedMessage> = fc.record({
  key: fc.record({
    logicalCluster: fc.stringMatching(/^[a-z0-9-]{0,20}$/),
    kind: fc.constantFrom(...reconciledKinds),
    name: fc.stringMatching(/^[a-z0-9]{1,40}$/),
  }),
  reason: fc.constantFrom(...reasons),
  resourceVersion: fc.option(fc.string(), { nil: undefined }),
  attempts: fc.option(
    fc.dictionary(fc.constantFrom("conflict", "trouble", "unforeseen"), fc.integer({ min: 1, max: mostCounted }), {
      minKeys: 1,
      noNullPrototype: true,
    }),
    { nil: undefined },
  ),
  nonce: fc.option(fc.stringMatching(/^[a-z0-9.]{1,30}$/), { nil: undefined }),
  restSeconds: fc.option(fc.nat(), { nil: undefined }),
});

describe("a work message", () => {
  test("is read as it was written", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(parseBody(formatBody(message))).toEqual(message);
      }),
    );
  });

  test("has names that SQS takes, whatever is in it", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(groupOf(message.key)).toMatch(/^[\w-]{1,128}$/);
        expect(deduplicationIdOf(message)).toMatch(/^[\w.-]{1,128}$/);
      }),
    );
  });

  test("holds keys, never more", () => {
    expect(formatBody(east)).toBe(
      '{"v":1,"logicalCluster":"1k2x","kind":"ClusterRegistration","name":"east","reason":"changed","rv":"17"}',
    );
  });

  const ids: Record<string, Readonly<{ other: Partial<WorkMessage>; same: boolean }>> = {
    "the same change": { other: {}, same: true },
    "another version": { other: { resourceVersion: "18" }, same: false },
    "another object": { other: { key: { ...east.key, name: "west" } }, same: false },
    "the same name in another tenant": { other: { key: { ...east.key, logicalCluster: "2b" } }, same: false },
    "another reason": { other: { reason: "resync" }, same: false },
    "a nonce": { other: { nonce: "a" }, same: false },
  };
  test.each(Object.entries(ids))("its deduplication id tells from it: %s", (_, { other, same }) => {
    expect(deduplicationIdOf({ ...east, ...other }) === deduplicationIdOf(east)).toBe(same);
  });

  test("only a change of a known version is the same wish whoever sends it", () => {
    const without = reasons.filter((reason) => !needsNonce({ ...east, reason }));
    expect(without).toEqual(["changed"]);
    expect(needsNonce({ ...east, resourceVersion: undefined })).toBe(true);
  });

  const good = JSON.parse(formatBody(east));
  const refused: Record<string, string> = {
    "is not JSON": "{",
    "is not a JSON object": "[1]",
    'has the version "2", not 1': JSON.stringify({ ...good, v: "2" }),
    "has the version missing, not 1": "{}",
    'has the kind "Secret"': JSON.stringify({ ...good, kind: "Secret" }),
    'has the reason "why"': JSON.stringify({ ...good, reason: "why" }),
    'has the logicalCluster "a/../b"': JSON.stringify({ ...good, logicalCluster: "a/../b" }),
    'has the name "../x"': JSON.stringify({ ...good, name: "../x" }),
    "has the name missing": JSON.stringify({ ...good, name: undefined }),
    "has the version of an object number": JSON.stringify({ ...good, rv: 17 }),
    'has the nonce "a b"': JSON.stringify({ ...good, nonce: "a b" }),
    "has number seconds left": JSON.stringify({ ...good, restSeconds: -1 }),
    "has the attempts number": JSON.stringify({ ...good, attempts: { trouble: 0.5 } }),
    'has the attempts "many"': JSON.stringify({ ...good, attempts: "many" }),
  };
  test.each(Object.entries(refused))("one that is not ours is refused in a line: %s", (why, body) => {
    expect(() => parseBody(body)).toThrow(`message: ${why}`);
  });

  test("a fresh change keeps the attempts of the retry that it joins, each sort by itself", () => {
    const retry: WorkMessage = { ...east, reason: "retry", attempts: { trouble: 4, conflict: 1, unforeseen: 3 } };
    const fresh: WorkMessage = { ...east, resourceVersion: "18", attempts: { conflict: 3, unforeseen: 2 } };
    expect(collapseMessages(retry, fresh)).toMatchObject({
      reason: "changed",
      resourceVersion: "18",
      attempts: { trouble: 4, conflict: 3, unforeseen: 3 },
    });
  });

  test("a wish for a look is kept when a change joins it", () => {
    expect(collapseMessages({ ...east, reason: "on-demand" }, east).reason).toBe("on-demand");
  });

  test("failures are counted by sort, as far as the waits grow", () => {
    let attempts = countFailure(undefined, "conflict");
    for (let count = 0; count < 20; count++) attempts = countFailure(attempts, "trouble");
    expect(attempts).toEqual({ conflict: 1, trouble: mostCounted });
  });
});
