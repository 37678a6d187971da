import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { planHeartbeat } from "../../../lib/lambda/heartbeat.ts";
import { formatHeartbeat, keysOf, mostClusters, parseHeartbeat } from "../../../lib/lambda/heartbeat-message.ts";
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
  "nothing to do is nothing to send": { count: 0, heartbeatSeconds: 60, delays: [] },
  "a few are one message at once": { count: 7, heartbeatSeconds: 60, delays: [0] },
  "fifty fit into one": { count: 50, heartbeatSeconds: 60, delays: [0] },
  "more are spread over fifty seconds": {
    count: 500,
    heartbeatSeconds: 60,
    delays: [0, 5, 10, 15, 20, 25, 30, 35, 40, 45],
  },
  "twice a minute is two waves": { count: 100, heartbeatSeconds: 30, delays: [0, 12, 30, 42] },
  "every twenty seconds is three": { count: 10, heartbeatSeconds: 20, delays: [0, 20, 40] },
};

describe("the messages of a round", () => {
  test.each(Object.entries(rows))("%s", (_rule, { count, heartbeatSeconds, delays }) => {
    const messages = planHeartbeat({ keys: keys(count), heartbeatSeconds, nowMs: minute(0) });
    expect(messages.map(({ delaySeconds }) => delaySeconds)).toEqual(delays);
  });

  test("of ten thousand clusters are two hundred of one size, all within the minute", () => {
    const messages = planHeartbeat({ keys: keys(10_000), heartbeatSeconds: 60, nowMs: minute(0) });
    expect(messages).toHaveLength(200);
    expect(new Set(messages.map(({ clusters }) => clusters.length))).toEqual(new Set([50]));
    expect(Math.max(...messages.map(({ delaySeconds }) => delaySeconds))).toBeLessThanOrEqual(50);
  });

  test("do not put the clusters of one tenant together", () => {
    const mixed = [...keys(60).map(({ name }) => ({ ...aKey(0, "dead"), name })), ...keys(240)];
    const messages = planHeartbeat({ keys: mixed, heartbeatSeconds: 60, nowMs: minute(0) });
    const most = Math.max(
      ...messages.map(({ clusters }) => clusters.filter(({ logicalCluster: cluster }) => cluster === "dead").length),
    );
    expect(most).toBeLessThan(25);
  });

  test("have each cluster once in a longer interval", () => {
    const rounds = Array.from({ length: 5 }, (_, at) =>
      planHeartbeat({ keys: keys(100), heartbeatSeconds: 300, nowMs: minute(at) })
        .flatMap(keysOf)
        .map(formatKey),
    );
    expect(rounds.flat().toSorted()).toEqual(keys(100).map(formatKey).toSorted());
    expect(Math.max(...rounds.map((round) => round.length))).toBeLessThan(50);
  });

  test("are the same for the same facts, have every cluster once a wave, and can be read", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 5, max: 60 }), (count, heartbeatSeconds) => {
        const facts = { keys: keys(count), heartbeatSeconds, nowMs: minute(0) };
        const messages = planHeartbeat(facts);
        const waves = Math.floor(60 / heartbeatSeconds);
        expect(messages.flatMap(keysOf)).toHaveLength(count * waves);
        for (const message of messages) {
          expect(message.clusters.length).toBeLessThanOrEqual(mostClusters);
          expect(message.delaySeconds).toBeLessThan(60);
          expect(parseHeartbeat(formatHeartbeat(message))).toEqual(message);
        }
        expect(planHeartbeat({ ...facts, keys: facts.keys.toReversed() })).toEqual(messages);
      }),
    );
  });
});

describe("a message that is not ours is refused", () => {
  const texts: Record<string, readonly [text: string, why: string]> = {
    "no JSON": ["{", "is not JSON"],
    "another version": ['{"v":2,"clusters":[]}', "is not of version 1"],
    "no list": ['{"v":1,"clusters":{}}', "does not have a list"],
    "too many": [JSON.stringify({ v: 1, clusters: keys(51) }), "at most 50"],
    "a strange cluster": ['{"v":1,"clusters":[3]}', "has a cluster that is none"],
    "a path for a logical cluster": ['{"v":1,"clusters":[{"cluster":"root:a","name":"b"}]}', "has no logical cluster"],
    "no name": ['{"v":1,"clusters":[{"logicalCluster":"a","name":"../b"}]}', "has a cluster without a name"],
    "a delay that is none": ['{"v":1,"clusters":[],"delaySeconds":"soon"}', "has a delay that is no time"],
  };
  test.each(Object.entries(texts))("%s", (_what, [text, why]) => {
    expect(() => parseHeartbeat(text)).toThrow(why);
  });

  test("and one without a delay was not to wait", () => {
    expect(parseHeartbeat('{"v":1,"clusters":[]}')).toEqual({ clusters: [], delaySeconds: 0 });
  });
});
