import { ControllerError } from "@tmc/kube/fault.ts";
import { describe, expect, it } from "vitest";
import { allWorkloadTypes } from "../../../lib/api/workload-kinds.ts";
import { formatResyncCursor, parseResyncCursor, type ResyncCursor } from "../../../lib/lambda/messages.ts";
import { type ResyncWalk, type ResyncWalkOptions, walkResync } from "../../../lib/lambda/resync-keys.ts";
import { createFakeLister, type FakeListerOptions, resyncObject } from "../../support/fake-lister.ts";

const types = allWorkloadTypes();
const counts: Readonly<Record<string, number>> = {
  clusterregistrations: 30,
  workloadplacements: 40,
  deployments: 250,
  workloadsyncs: 260,
};
const sources = ["root:a", "root:b", "root:c"];

/** Walks, and cuts each invocation off after some pages, until nothing is left. */
async function walk(
  options: Partial<ResyncWalkOptions & FakeListerOptions> & Readonly<{ pagesPerInvocation?: number }> = {},
) {
  const { pagesPerInvocation = Number.POSITIVE_INFINITY, beforePage, ...more } = options;
  const sent: string[] = [];
  const walks: ResyncWalk[] = [];
  let from: ResyncWalkOptions["from"];
  do {
    const abort = new AbortController();
    let pages = 0;
    const lister = createFakeLister({
      sources,
      count: (_, plural) => counts[plural] ?? 0,
      object: (_, plural, index) => resyncObject(plural, index),
      pageSize: 20,
      beforePage: async (source, request) => {
        await beforePage?.(source, request);
        pages += 1;
        if (pages > pagesPerInvocation) abort.abort();
      },
      ...more,
    });
    const result = await walkResync({
      lister,
      types,
      send: async (keys) => {
        for (const { logicalCluster, kind, name } of keys) sent.push(`${logicalCluster} ${kind} ${name}`);
      },
      salt: 1,
      signal: abort.signal,
      ...more,
      from,
    });
    walks.push(result);
    from = result.rest;
    expect(walks.length, "the walk makes progress").toBeLessThan(200);
  } while (from !== undefined);
  return { sent, walks };
}

// 30 registrations, 40 placements, 250 Deployments, and 10 records without a Deployment.
const all = 3 * 330;

describe("walkResync", () => {
  it("sends every key of every source once, although a workload is selected and has a sync record", async () => {
    const { sent, walks } = await walk();
    expect(walks).toMatchObject([{ keys: all, failures: [], rest: undefined }]);
    expect(new Set(sent).size).toBe(all);
    expect(sent).toHaveLength(all);
  });

  it.each([15, 25, 40])(
    "continues where it stopped if each invocation reads only %i pages, and omits no key",
    async (pages) => {
      const whole = new Set((await walk()).sent);
      const { sent, walks } = await walk({ pagesPerInvocation: pages });
      expect(walks.length).toBeGreaterThan(2);
      expect(new Set(sent)).toEqual(whole);
      // What is sent twice are keys of lists that have to be read again, never everything.
      expect(sent.length).toBeLessThan(3 * all);
    },
  );

  it("begins the sources that an earlier invocation did not reach", async () => {
    const many = Array.from({ length: 12 }, (_, index) => `root:w${index}`);
    const { sent, walks } = await walk({ types: [], sources: many, pagesPerInvocation: 6 });
    expect(walks.length).toBeGreaterThan(2);
    expect(new Set(sent).size).toBe(12 * 70);
  });

  it("without sync sends registrations and placements only, each once", async () => {
    const { sent } = await walk({ types: [], pagesPerInvocation: 5 });
    expect(new Set(sent).size).toBe(3 * 70);
  });

  it("counts a source that cannot be listed, and sends the keys of the others", async () => {
    const { sent, walks } = await walk({
      beforePage: (source) => {
        if (source === "root:b") throw new ControllerError("unreachable", "no route");
      },
    });
    expect(walks).toMatchObject([{ failures: [{ workspace: "root:b" }], rest: undefined }]);
    expect(new Set(sent).size).toBe(2 * 330);
  });

  it("counts a list that the server refuses, and continues with the other lists of the source", async () => {
    const { sent, walks } = await walk({
      beforePage: (source, { type }) => {
        if (source === "root:b" && type.plural === "deployments") throw new ControllerError("forbidden", "no");
      },
    });
    expect(walks[0]?.failures).toHaveLength(1);
    expect(new Set(sent).size, "its Deployments still have sync records").toBe(all);
  });

  it("starts a list again if its snapshot has expired", async () => {
    let isExpired = true;
    const { sent, walks } = await walk({
      beforePage: (source, { type, token }) => {
        if (!isExpired || source !== "root:a" || type.plural !== "deployments" || token !== "100") return;
        isExpired = false;
        throw new ControllerError("expired", "gone");
      },
    });
    expect(walks).toMatchObject([{ failures: [], rest: undefined }]);
    expect(new Set(sent).size).toBe(all);
  });

  it("sends the keys of all tenants in a page with one call", async () => {
    const sizes: number[] = [];
    await walk({
      sources: ["https://kcp/services/apiexport"],
      logicalClusterOf: (_, index) => `tenant-${index % 10}`,
      send: async (keys) => void sizes.push(keys.length),
    });
    expect(Math.max(...sizes)).toBe(20);
    expect(sizes.length).toBeLessThanOrEqual(31);
  });

  it("fails if keys cannot be sent", async () => {
    const send = async (): Promise<void> => {
      throw new ControllerError("unreachable", "sqs: away");
    };
    await expect(walk({ send })).rejects.toThrow("sqs: away");
  });
});

describe("the resync message", () => {
  const cursor: ResyncCursor = {
    startedMs: 5,
    keys: 7,
    failed: 1,
    places: [{ source: "root:a", list: "2/apps/v1/Deployment", token: "abc" }],
    after: "root:b",
  };

  it("can be read again", () => {
    expect(parseResyncCursor(formatResyncCursor(cursor))).toEqual(cursor);
  });

  it.each([
    ["{", "is not JSON"],
    ["{}", "is not of version 1"],
    ['{"v":1,"startedMs":-1}', "has an invalid count"],
    ['{"v":1,"startedMs":1,"keys":1,"failed":0,"after":""}', "has no places"],
    ['{"v":1,"startedMs":1,"keys":1,"failed":0,"after":"","places":[{}]}', "has a place without a source"],
  ])("%s is rejected: it %s", (text, why) => {
    expect(() => parseResyncCursor(text)).toThrow(`resync message: ${why}`);
  });
});
