import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planHeartbeat } from "../../../lib/lambda/heartbeat.ts";
import {
  formatHeartbeat,
  maxClustersPerMessage,
  parseHeartbeat,
  registrationKeysOf,
} from "../../../lib/lambda/messages.ts";
import { formatKey, type ObjectKey } from "../../../lib/model/key.ts";

const aKey = (index: number, logicalCluster = `tenant-${index % 3}`): ObjectKey => ({
  logicalCluster,
  kind: "ClusterRegistration",
  name: `cluster-${index}`,
});
const keys = (count: number): ObjectKey[] => Array.from({ length: count }, (_, index) => aKey(index));
const minute = (at: number): number => Date.parse("2026-01-01T00:00:20Z") + at * 60_000;

type Row = Readonly<{ count: number; heartbeatSeconds: number; delays: readonly number[] }>;
const rows: Record<string, Row> = {
  "sends nothing for no clusters": { count: 0, heartbeatSeconds: 60, delays: [] },
  "sends a few clusters in one message without a delay": { count: 7, heartbeatSeconds: 60, delays: [0] },
  "sends fifty clusters in one message": { count: 50, heartbeatSeconds: 60, delays: [0] },
  "spreads more messages over fifty seconds": {
    count: 500,
    heartbeatSeconds: 60,
    delays: [0, 5, 10, 15, 20, 25, 30, 35, 40, 45],
  },
  "sends two waves for a heartbeat of 30 seconds": { count: 100, heartbeatSeconds: 30, delays: [0, 12, 30, 42] },
  "sends three waves for a heartbeat of 20 seconds": { count: 10, heartbeatSeconds: 20, delays: [0, 20, 40] },
};

describe("planHeartbeat", () => {
  test.each(Object.entries(rows))("%s", (_rule, { count, heartbeatSeconds, delays }) => {
    const messages = planHeartbeat({ keys: keys(count), heartbeatSeconds, nowMs: minute(0) });
    expect(messages.map(({ delaySeconds }) => delaySeconds)).toEqual(delays);
  });

  test("planHeartbeat sends ten thousand clusters in two hundred equal messages within a minute", () => {
    const messages = planHeartbeat({ keys: keys(10_000), heartbeatSeconds: 60, nowMs: minute(0) });
    expect(messages).toHaveLength(200);
    expect(new Set(messages.map(({ clusters }) => clusters.length))).toEqual(new Set([50]));
    expect(Math.max(...messages.map(({ delaySeconds }) => delaySeconds))).toBeLessThanOrEqual(50);
  });

  test("planHeartbeat distributes the clusters of one tenant over many messages", () => {
    const mixed = [...keys(60).map(({ name }) => ({ ...aKey(0, "dead"), name })), ...keys(240)];
    const messages = planHeartbeat({ keys: mixed, heartbeatSeconds: 60, nowMs: minute(0) });
    const most = Math.max(
      ...messages.map(({ clusters }) => clusters.filter(({ logicalCluster: cluster }) => cluster === "dead").length),
    );
    expect(most).toBeLessThan(25);
  });

  test("planHeartbeat includes each cluster once in an interval of several minutes", () => {
    const rounds = Array.from({ length: 5 }, (_, at) =>
      planHeartbeat({ keys: keys(100), heartbeatSeconds: 300, nowMs: minute(at) })
        .flatMap(registrationKeysOf)
        .map(formatKey),
    );
    expect(rounds.flat().toSorted()).toEqual(keys(100).map(formatKey).toSorted());
    expect(Math.max(...rounds.map((round) => round.length))).toBeLessThan(50);
  });

  test("planHeartbeat is deterministic, includes every cluster once per wave, and its messages can be parsed", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 5, max: 60 }), (count, heartbeatSeconds) => {
        const facts = { keys: keys(count), heartbeatSeconds, nowMs: minute(0) };
        const messages = planHeartbeat(facts);
        const waves = Math.floor(60 / heartbeatSeconds);
        expect(messages.flatMap(registrationKeysOf)).toHaveLength(count * waves);
        for (const message of messages) {
          expect(message.clusters.length).toBeLessThanOrEqual(maxClustersPerMessage);
          expect(message.delaySeconds).toBeLessThan(60);
          expect(parseHeartbeat(formatHeartbeat(message))).toEqual(message);
        }
        expect(planHeartbeat({ ...facts, keys: facts.keys.toReversed() })).toEqual(messages);
      }),
    );
  });
});

describe("parseHeartbeat", () => {
  const texts: Record<string, readonly [text: string, why: string]> = {
    "text that is not JSON": ["{", "is not JSON"],
    "another version": ['{"v":2,"clusters":[]}', "is not of version 1"],
    "a message without a list": ['{"v":1,"clusters":{}}', "does not have a list"],
    "too many clusters": [JSON.stringify({ v: 1, clusters: keys(51) }), "at most 50"],
    "a cluster that is not an object": ['{"v":1,"clusters":[3]}', "has a cluster that is not an object"],
    "a path for a logical cluster": [
      '{"v":1,"clusters":[{"logicalCluster":"root:a","name":"b"}]}',
      "without a logical cluster",
    ],
    "an invalid name": ['{"v":1,"clusters":[{"logicalCluster":"a","name":"../b"}]}', "has a cluster without a name"],
    "an invalid delay": ['{"v":1,"clusters":[],"delaySeconds":"soon"}', "has an invalid delay"],
  };
  test.each(Object.entries(texts))("parseHeartbeat rejects %s", (_what, [text, why]) => {
    expect(() => parseHeartbeat(text)).toThrow(why);
  });

  test("parseHeartbeat treats a missing delay as 0", () => {
    expect(parseHeartbeat('{"v":1,"clusters":[]}')).toEqual({ clusters: [], delaySeconds: 0 });
  });
});
