import { describe, expect, it } from "vitest";
import type { FaultRule } from "../../src/server/faults.ts";
import { ConnectionReset } from "../../src/server/http.ts";
import { aConfigMap, createTestCore, type TestCore } from "../support/test-core.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const create = (core: TestCore, name: string) => core.call("POST", maps, { body: aConfigMap(name) });
const namesIn = (core: TestCore) => core.store.list("configmaps").map(({ metadata }) => metadata.name);

describe("a fault", () => {
  it("affects only matching requests, as often as its count, and counts them", async () => {
    const rule: FaultRule = {
      match: { verb: "create", resource: "configmaps", user: "admin", namespace: "default" },
      count: 2,
      skip: 1,
      effect: { kind: "status", code: 503, retryAfterSeconds: 7 },
    };
    const core = createTestCore();
    const fault = core.faults.inject(rule);
    expect((await core.call("GET", maps)).status).toBe(200);
    const codes = [];
    for (const name of ["a", "b", "c", "d"]) codes.push((await create(core, name)).status);
    expect(codes).toEqual([201, 503, 503, 201]);
    expect(fault.hits).toBe(2);
  });

  it("responds with its code, reason and Retry-After", async () => {
    const core = createTestCore();
    core.faults.inject({ effect: { kind: "status", code: 429, message: "slow down", retryAfterSeconds: 3 } });
    const { status, headers, body } = await core.call("GET", maps);
    expect(status).toBe(429);
    expect(headers["retry-after"]).toBe("3");
    expect(body).toMatchObject({ reason: "TooManyRequests", message: "slow down", details: { retryAfterSeconds: 3 } });
  });

  it("delays by the clock", async () => {
    const core = createTestCore();
    core.faults.inject({ effect: { kind: "delay", ms: 500 } });
    let answered = false;
    const answer = core.call("GET", maps).then(() => {
      answered = true;
    });
    core.clock.advance(499);
    await settle();
    expect(answered).toBe(false);
    core.clock.advance(1);
    await answer;
    expect(answered).toBe(true);
  });

  it("resets the connection before or after the request is handled", async () => {
    const core = createTestCore();
    core.faults.inject({ count: 1, effect: { kind: "reset", when: "before" } });
    await expect(create(core, "a")).rejects.toBeInstanceOf(ConnectionReset);
    expect(namesIn(core)).toEqual([]);
    core.faults.inject({ count: 1, effect: { kind: "reset", when: "after" } });
    await expect(create(core, "a")).rejects.toBeInstanceOf(ConnectionReset);
    expect(namesIn(core)).toEqual(["a"]);
  });

  it("serves reads from an earlier revision", async () => {
    const core = createTestCore();
    await create(core, "a");
    await core.call("PATCH", `${maps}/a`, { body: { data: { a: "new" } } });
    await create(core, "b");
    const fault = core.faults.inject({ effect: { kind: "stale-read", revisionsBack: 2 } });
    expect((await core.call("GET", `${maps}/a`)).body).toMatchObject({ data: { a: "b" } });
    expect((await core.call("GET", maps)).body).toMatchObject({
      metadata: { resourceVersion: "2" },
      items: [{ data: { a: "b" } }],
    });
    expect((await core.call("GET", `${maps}/b`)).status).toBe(404);
    await core.call("DELETE", `${maps}/b`);
    expect(fault.hits).toBe(3);
    fault.remove();
    expect((await core.call("GET", `${maps}/a`)).body).toMatchObject({ data: { a: "new" } });
  });

  it("serves reads from the oldest revision of the history at the earliest", async () => {
    const core = createTestCore();
    await create(core, "a");
    core.store.compact();
    await create(core, "b");
    core.faults.inject({ effect: { kind: "stale-read", revisionsBack: 1_000_000 } });
    expect((await core.call("GET", maps)).body).toMatchObject({ items: [{ metadata: { name: "a" } }] });
    expect((await core.call("GET", `${maps}/b`)).status).toBe(404);
  });

  it("responds to watches and to lists with a resourceVersion that it is too old", async () => {
    const core = createTestCore();
    core.faults.inject({ effect: { kind: "expired" } });
    expect((await core.call("GET", maps)).status).toBe(200);
    expect((await core.call("GET", `${maps}?resourceVersion=1`)).body).toMatchObject({ code: 410, reason: "Expired" });
    const watch = core.call("GET", `${maps}?watch=1&resourceVersion=1`);
    await settle();
    core.clock.advance(0);
    expect((await watch).body).toMatchObject({ type: "ERROR", object: { code: 410 } });
  });

  it("cuts a watch after a number of events", async () => {
    const core = createTestCore();
    core.faults.inject({ count: 1, effect: { kind: "cut-watch", afterEvents: 2 } });
    const { events, ended } = await openWatch(core);
    for (const name of ["a", "b", "c"]) await create(core, name);
    await expect(ended).rejects.toBeInstanceOf(ConnectionReset);
    expect(events).toEqual(["a", "b"]);
  });

  it("stalls a watch, which stays open without events", async () => {
    const core = createTestCore();
    core.faults.inject({ effect: { kind: "stall-watch", afterEvents: 1 } });
    const { events, ended } = await openWatch(core, "timeoutSeconds=60");
    for (const name of ["a", "b"]) await create(core, name);
    await settle();
    expect(events).toEqual(["a"]);
    core.clock.advance(60_000);
    await ended;
    expect(events).toEqual(["a"]);
  });

  it("cuts the watches that are open now", async () => {
    const core = createTestCore();
    const { ended } = await openWatch(core);
    core.faults.cutWatches({ resource: "pods" });
    core.faults.cutWatches({ resource: "configmaps" });
    await expect(ended).rejects.toBeInstanceOf(ConnectionReset);
  });

  it("partitions client and server until it is removed: requests hang, watches stall and then break", async () => {
    const core = createTestCore();
    const { events, ended } = await openWatch(core);
    const partition = core.faults.inject({ match: { user: "admin" }, effect: { kind: "partition", requests: "hang" } });
    const hanging = create(core, "a");
    core.operations.create(
      { definition: core.catalog.definitions()[1] ?? missing(), logicalCluster: "", namespace: "default" },
      aConfigMap("b"),
      { user: { name: "system:apiserver", groups: [] } },
    );
    await settle();
    expect(events).toEqual([]);
    partition.remove();
    await expect(hanging).rejects.toBeInstanceOf(ConnectionReset);
    await expect(ended).rejects.toBeInstanceOf(ConnectionReset);
    expect(namesIn(core)).toEqual(["b"]);
    expect((await core.call("GET", maps)).status).toBe(200);
  });

  it("refuses requests at once in a partition with requests refused", async () => {
    const core = createTestCore();
    core.faults.inject({ effect: { kind: "partition", requests: "refuse" } });
    await expect(core.call("GET", maps)).rejects.toBeInstanceOf(ConnectionReset);
    core.faults.clear();
    expect((await core.call("GET", maps)).status).toBe(200);
  });
});

async function openWatch(core: TestCore, query = "") {
  const { body } = await core.send("GET", `${maps}?watch=1&resourceVersion=1&${query}`);
  const events: string[] = [];
  const ended = (async () => {
    for await (const chunk of body) {
      for (const line of chunk.split("\n")) if (line !== "") events.push(JSON.parse(line).object.metadata.name);
    }
  })();
  // The test awaits the end later.
  ended.catch(() => {});
  return { events, ended };
}

function missing(): never {
  throw new Error("no such definition");
}
