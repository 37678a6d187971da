import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reconciledKinds } from "../../../lib/model/key.ts";
import { workReasons } from "../../../lib/model/work-item.ts";
import {
  coalesceMessages,
  countFailure,
  type DelayedMessage,
  deduplicationIdOf,
  formatBody,
  maxCountedFailures,
  messageGroupOf,
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
  reason: fc.constantFrom(...workReasons),
  resourceVersion: fc.option(fc.string(), { nil: undefined }),
  attempts: fc.option(
    fc.dictionary(
      fc.constantFrom("conflict", "transient", "unexpected"),
      fc.integer({ min: 1, max: maxCountedFailures }),
      {
        minKeys: 1,
        noNullPrototype: true,
      },
    ),
    { nil: undefined },
  ),
  nonce: fc.option(fc.stringMatching(/^[a-z0-9.]{1,30}$/), { nil: undefined }),
  remainingSeconds: fc.option(fc.nat(), { nil: undefined }),
});

describe("a work message", () => {
  test("a work message is unchanged after formatting and parsing", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(parseBody(formatBody(message))).toEqual(message);
      }),
    );
  });

  test("message group and deduplication id are valid for SQS, whatever the message contains", () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        expect(messageGroupOf(message.key)).toMatch(/^[\w-]{1,128}$/);
        expect(deduplicationIdOf(message)).toMatch(/^[\w.-]{1,128}$/);
      }),
    );
  });

  test("the placements of a tenant share a message group, and every other key has its own", () => {
    const groupOf = (kind: (typeof reconciledKinds)[number], name: string, logicalCluster = "1k2x"): string =>
      messageGroupOf({ logicalCluster, kind, name });
    expect(groupOf("WorkloadPlacement", "web")).toBe(groupOf("WorkloadPlacement", "api"));
    expect(groupOf("WorkloadPlacement", "web")).not.toBe(groupOf("WorkloadPlacement", "web", "2b"));
    expect(groupOf("ClusterRegistration", "east")).not.toBe(groupOf("ClusterRegistration", "west"));
    expect(groupOf("ClusterRegistration", "web")).not.toBe(groupOf("WorkloadPlacement", "web"));
    const placement = (name: string): WorkMessage => ({
      ...east,
      key: { ...east.key, kind: "WorkloadPlacement", name },
    });
    expect(deduplicationIdOf(placement("web"))).not.toBe(deduplicationIdOf(placement("api")));
  });

  test("a work message contains a key, never an object", () => {
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
  test.each(Object.entries(ids))("the deduplication id distinguishes a change from: %s", (_, { other, same }) => {
    expect(deduplicationIdOf({ ...east, ...other }) === deduplicationIdOf(east)).toBe(same);
  });

  test("only a change with a resourceVersion is sent without a nonce", () => {
    const without = workReasons.filter((reason) => !needsNonce({ ...east, reason }));
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
    "has the resource version number": JSON.stringify({ ...good, rv: 17 }),
    'has the nonce "a b"': JSON.stringify({ ...good, nonce: "a b" }),
    "has the remaining seconds number": JSON.stringify({ ...good, remainingSeconds: -1 }),
    "has the attempts number": JSON.stringify({ ...good, attempts: { transient: 0.5 } }),
    'has the attempts "many"': JSON.stringify({ ...good, attempts: "many" }),
  };
  test.each(Object.entries(refused))("an invalid message is rejected with one line: %s", (why, body) => {
    expect(() => parseBody(body)).toThrow(`message: ${why}`);
  });

  test("a change that is coalesced with a retry keeps the attempts of each failure kind", () => {
    const retry: WorkMessage = { ...east, reason: "retry", attempts: { transient: 4, conflict: 1, unexpected: 3 } };
    const fresh: WorkMessage = { ...east, resourceVersion: "18", attempts: { conflict: 3, unexpected: 2 } };
    expect(coalesceMessages(retry, fresh)).toMatchObject({
      reason: "changed",
      resourceVersion: "18",
      attempts: { transient: 4, conflict: 3, unexpected: 3 },
    });
  });

  test("a change that is coalesced with an on-demand reconcile keeps that reason", () => {
    expect(coalesceMessages({ ...east, reason: "on-demand" }, east).reason).toBe("on-demand");
  });

  test("failures are counted by kind, up to the count at which the backoff stops growing", () => {
    let attempts = countFailure(undefined, "conflict");
    for (let count = 0; count < 20; count++) attempts = countFailure(attempts, "transient");
    expect(attempts).toEqual({ conflict: 1, transient: maxCountedFailures });
  });
});
