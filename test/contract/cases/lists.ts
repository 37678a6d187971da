import { expect, it } from "vitest";
import type { ConfigMap } from "../resources.ts";
import { aConfigMap, configMaps, events, namespaces, refusal, secrets } from "../resources.ts";
import type { MakeRoom, Room } from "../server-under-test.ts";

const names = (list: { items: { metadata: { name?: string } }[] }): (string | undefined)[] =>
  list.items.map((item) => item.metadata.name);

export function listCases(room: MakeRoom): void {
  /** A room with a … e in it, and nothing else that we list. */
  const filled = async (count = 5): Promise<Room> => {
    const made = await room();
    const { client, namespace } = made;
    for (const name of ["a", "b", "c", "d", "e"].slice(0, count)) {
      await client.create(
        { type: secrets, namespace },
        {
          apiVersion: "v1",
          kind: "Secret",
          metadata: { name, labels: { name, half: name < "c" ? "first" : "second" } },
        },
      );
    }
    return made;
  };

  it("lists a namespace in the order of names", async () => {
    const { client, namespace } = await filled();
    const list = await client.list({ type: secrets, namespace });
    expect(list).toMatchObject({ apiVersion: "v1", kind: "SecretList" });
    expect(names(list)).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("leaves apiVersion and kind off a list's items of built-in types", async () => {
    const { client, namespace } = await filled(1);
    const { text } = await client.raw("GET", `/api/v1/namespaces/${namespace}/secrets`);
    expect(JSON.parse(text).items[0]).not.toHaveProperty("kind");
    expect(JSON.parse(text).items[0]).not.toHaveProperty("apiVersion");
  });

  it("gives the list a resourceVersion that a watch can start from", async () => {
    const { client, namespace } = await filled(1);
    const list = await client.list({ type: secrets, namespace });
    expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(
      Number(list.items[0]?.metadata.resourceVersion),
    );
  });

  it("answers an empty list, not null, where nothing is", async () => {
    const { client, namespace } = await room();
    const { text } = await client.raw("GET", `/api/v1/namespaces/${namespace}/secrets`);
    expect(JSON.parse(text).items).toEqual([]);
  });

  it("answers an empty list for a namespace that does not exist", async () => {
    const { client } = await room();
    expect((await client.list({ type: secrets, namespace: "no-such" })).items).toEqual([]);
  });

  it("lists all namespaces", async () => {
    const { client, namespace } = await filled(1);
    const { items } = await client.listAll({ type: secrets });
    expect(items.some((item) => item.metadata.namespace === namespace && item.metadata.name === "a")).toBe(true);
  });

  for (const [selector, expected] of Object.entries({
    "name=a": ["a"],
    "name==a": ["a"],
    "name!=a": ["b", "c", "d", "e"],
    "name in (a, c)": ["a", "c"],
    "name notin (a,b,c)": ["d", "e"],
    "half=first,name!=b": ["a"],
    missing: [],
    "!missing": ["a", "b", "c", "d", "e"],
    "": ["a", "b", "c", "d", "e"],
  })) {
    it(`selects by labels: ${JSON.stringify(selector)}`, async () => {
      const { client, namespace } = await filled();
      expect(names(await client.list({ type: secrets, namespace }, { labelSelector: selector }))).toEqual(expected);
    });
  }

  it("refuses a label selector that cannot be read", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(client.list({ type: secrets, namespace }, { labelSelector: "a in" }));
    expect(failure).toMatchObject({ status: 400, reason: "BadRequest" });
    expect(failure.message).toContain("unable to parse requirement");
  });

  it("selects by metadata.name and metadata.namespace", async () => {
    const { client, namespace } = await filled();
    expect(names(await client.list({ type: secrets, namespace }, { fieldSelector: "metadata.name=b" }))).toEqual(["b"]);
    expect(
      names(
        await client.list({ type: secrets }, { fieldSelector: `metadata.namespace=${namespace},metadata.name!=b` }),
      ),
    ).toEqual(["a", "c", "d", "e"]);
  });

  it("selects by the fields that a type declares", async () => {
    const { client, namespace } = await filled(2);
    await client.create(
      { type: secrets, namespace },
      { apiVersion: "v1", kind: "Secret", metadata: { name: "typed" }, type: "example.com/x" },
    );
    expect(names(await client.list({ type: secrets, namespace }, { fieldSelector: "type=example.com/x" }))).toEqual([
      "typed",
    ]);
  });

  it("refuses a field selector on a field that cannot be selected", async () => {
    const { client, namespace } = await room();
    expect(await refusal(client.list({ type: configMaps, namespace }, { fieldSelector: "data.a=1" }))).toEqual({
      status: 400,
      reason: "BadRequest",
      message: '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
    });
  });

  it("pages through a list and counts what remains", async () => {
    const { client, namespace } = await filled();
    const first = await client.list({ type: secrets, namespace }, { limit: 2 });
    expect(names(first)).toEqual(["a", "b"]);
    expect(first.metadata.remainingItemCount).toBe(3);
    const second = await client.list({ type: secrets, namespace }, { limit: 2, continue: first.metadata.continue });
    expect(names(second)).toEqual(["c", "d"]);
    const third = await client.list({ type: secrets, namespace }, { limit: 2, continue: second.metadata.continue });
    expect(names(third)).toEqual(["e"]);
    expect(third.metadata.continue ?? "").toBe("");
    expect(third.metadata.remainingItemCount).toBeUndefined();
  });

  it("shows every page as of the first one", async () => {
    const { client, namespace } = await filled();
    const first = await client.list({ type: secrets, namespace }, { limit: 2 });
    await client.delete({ type: secrets, namespace, name: "d" });
    await client.create({ type: secrets, namespace }, { apiVersion: "v1", kind: "Secret", metadata: { name: "cc" } });
    const rest = await client.list({ type: secrets, namespace }, { limit: 10, continue: first.metadata.continue });
    expect(names(rest)).toEqual(["c", "d", "e"]);
    expect(rest.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
  });

  it("refuses a continue token that it did not make", async () => {
    const { client, namespace } = await filled(1);
    const failure = await refusal(client.list({ type: secrets, namespace }, { limit: 2, continue: "nonsense" }));
    expect(failure).toMatchObject({ status: 400, reason: "BadRequest" });
    expect(failure.message).toContain("continue key is not valid");
  });

  it("refuses a resourceVersion beside a continue token", async () => {
    const { client, namespace } = await filled();
    const first = await client.list({ type: secrets, namespace }, { limit: 2 });
    const failure = await refusal(
      client.list(
        { type: secrets, namespace },
        { limit: 2, continue: first.metadata.continue, resourceVersion: first.metadata.resourceVersion },
      ),
    );
    expect(failure).toMatchObject({ status: 400, reason: "BadRequest" });
    expect(failure.message).toContain("specifying resource version is not allowed when using continue");
  });

  it("lists as of an exact resourceVersion", async () => {
    const { client, namespace } = await filled(2);
    const { metadata } = await client.list({ type: secrets, namespace });
    await client.delete({ type: secrets, namespace, name: "a" });
    const then = await client.list(
      { type: secrets, namespace },
      { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "Exact" },
    );
    expect(names(then)).toEqual(["a", "b"]);
    expect(then.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });

  it("refuses a resourceVersionMatch without a resourceVersion", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(client.list({ type: secrets, namespace }, { resourceVersionMatch: "Exact" }));
    expect(failure).toMatchObject({ status: 422, reason: "Invalid" });
    expect(failure.message).toContain("resourceVersionMatch is forbidden unless resourceVersion is provided");
  });

  it("refuses a resourceVersion that is no number", async () => {
    const { client, namespace } = await room();
    const failure = await refusal(client.list({ type: secrets, namespace }, { resourceVersion: "abc" }));
    expect(failure.status).toBe(400);
    expect(failure.message).toContain("abc");
  });

  it("lists an older state no older than asked for", async () => {
    const { client, namespace } = await filled(2);
    const { metadata } = await client.list({ type: secrets, namespace });
    const list = await client.list(
      { type: secrets, namespace },
      { resourceVersion: metadata.resourceVersion, resourceVersionMatch: "NotOlderThan" },
    );
    expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(metadata.resourceVersion));
    expect(names(list)).toEqual(["a", "b"]);
  });

  it("reads an object no older than asked for", async () => {
    const { client, namespace } = await filled(1);
    const object = await client.get({ type: secrets, namespace, name: "a" });
    const again = await client.get(
      { type: secrets, namespace, name: "a" },
      { resourceVersion: object.metadata.resourceVersion },
    );
    expect(again.metadata.uid).toBe(object.metadata.uid);
  });

  it("answers only metadata when asked to", async () => {
    const { client, namespace } = await room();
    await client.create({ type: configMaps, namespace }, aConfigMap("a", { big: "x" }, { labels: { l: "1" } }));
    const object = await client.metadata.get<ConfigMap>({ type: configMaps, namespace, name: "a" });
    expect(object).toMatchObject({
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: { name: "a", labels: { l: "1" } },
    });
    expect(object).not.toHaveProperty("data");
    const list = await client.metadata.list({ type: configMaps, namespace }, { labelSelector: "l=1" });
    expect(list).toMatchObject({ kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1" });
    expect(list.items).toHaveLength(1);
    expect(list.items[0]).not.toHaveProperty("data");
  });

  it("pages metadata too", async () => {
    const { client, namespace } = await filled(3);
    const list = await client.metadata.listAll({ type: secrets, namespace }, { limit: 1 });
    expect(names(list)).toEqual(["a", "b", "c"]);
  });

  it("answers a table with the type's columns when asked to", async () => {
    const { client, namespace } = await room();
    await client.create({ type: configMaps, namespace }, aConfigMap("a", { x: "1", y: "2" }));
    const { text } = await client.raw(
      "GET",
      `/api/v1/namespaces/${namespace}/configmaps?fieldSelector=metadata.name%3Da`,
      {
        accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
      },
    );
    const table = JSON.parse(text);
    expect(table).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
    expect(table.columnDefinitions.map((column: { name: string }) => column.name)).toEqual(["Name", "Data", "Age"]);
    expect(table.rows[0].cells.slice(0, 2)).toEqual(["a", 2]);
    expect(table.rows[0].object).toMatchObject({ kind: "PartialObjectMetadata", metadata: { name: "a" } });
  });

  it("selects events by the object they are about", async () => {
    const { client, namespace } = await room();
    const event = (name: string, about: string) => ({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name, namespace },
      involvedObject: { kind: "ConfigMap", name: about, namespace },
      reason: "Tried",
      message: "tried",
      type: "Normal",
    });
    await client.create({ type: events, namespace }, event("one", "x"));
    await client.create({ type: events, namespace }, event("two", "y"));
    expect(
      names(
        await client.list(
          { type: events, namespace },
          { fieldSelector: "involvedObject.name=x,involvedObject.kind=ConfigMap" },
        ),
      ),
    ).toEqual(["one"]);
  });

  it("selects namespaces by phase", async () => {
    const { client, namespace } = await room();
    const list = await client.list({ type: namespaces }, { fieldSelector: "status.phase=Active" });
    expect(names(list)).toContain(namespace);
  });
}
