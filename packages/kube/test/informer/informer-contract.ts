import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Collection, KubeClient, ListOptions, WatchEvent, WatchOptions } from "../../src/client.ts";
import { ApiError } from "../../src/errors.ts";
import {
  type Informer,
  type InformerClient,
  type InformerHandler,
  startInformer,
  storeHandler,
} from "../../src/informer/informer.ts";
import { createObjectStore, type ObjectStore } from "../../src/informer/object-store.ts";
import type { KubeObject, ResourceType } from "../../src/kube-object.ts";
import { createManualClock } from "../../src/manual-clock.ts";

const namespaces: ResourceType = { group: "", version: "v1", plural: "namespaces" };
const configMaps: ResourceType = { group: "", version: "v1", plural: "configmaps" };
const definitions: ResourceType = { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" };

/** Controls the connection between an informer and its server. */
type Wire = {
  /** Ends the open watch, as a server or a proxy does. */
  cut: () => void;
  /** The next watch request is answered with 410 Gone. */
  isExpired: boolean;
  /** Drops all watch events. */
  isSilent: boolean;
  /** The page size and the watch time-out that requests are sent with. */
  limit?: number;
  timeoutSeconds?: number;
  /** The resourceVersions that watch requests asked for. */
  readonly watchedFrom: (string | undefined)[];
  lists: number;
};

function wired(client: InformerClient): InformerClient & Readonly<{ wire: Wire }> {
  const wire: Wire = { cut: () => {}, isExpired: false, isSilent: false, watchedFrom: [], lists: 0 };
  const list = (collection: Collection, options: ListOptions = {}) => {
    if (options.continue === undefined) wire.lists += 1;
    return client.list<KubeObject>(collection, {
      ...options,
      ...(wire.limit === undefined ? {} : { limit: wire.limit }),
    });
  };
  async function* watch(
    collection: Collection,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent, void, undefined> {
    wire.watchedFrom.push(options.resourceVersion);
    if (wire.isExpired) {
      wire.isExpired = false;
      throw new ApiError("expired", "too old resource version", { status: 410 });
    }
    const end = new AbortController();
    const stop = (): void => end.abort();
    options.signal?.addEventListener("abort", stop, { once: true });
    let isCut = false;
    wire.cut = () => {
      isCut = true;
      stop();
    };
    const { timeoutSeconds = options.timeoutSeconds } = wire;
    try {
      for await (const event of client.watch<KubeObject>(collection, {
        ...options,
        timeoutSeconds,
        signal: end.signal,
      })) {
        if (!wire.isSilent) yield event;
      }
    } catch (error) {
      if (!isCut) throw error;
    } finally {
      options.signal?.removeEventListener("abort", stop);
    }
  }
  return {
    // The generic result types are those of the client.
    list: list as KubeClient["list"],
    listAll: client.listAll,
    watch: watch as KubeClient["watch"],
    wire,
  };
}

/** The contract of an informer, run on the embedded and on the real server. */
export function informerContract(server: string, connect: () => Promise<KubeClient>): void {
  describe(`an informer on ${server}`, () => {
    let client: KubeClient;
    let tests = 0;
    const running: Informer[] = [];
    /** Informers wait on this clock before they retry; each check of `soon` moves it. */
    const clock = createManualClock();
    const created: string[] = [];

    beforeAll(async () => {
      client = await connect();
    });
    afterAll(async () => {
      await Promise.all(running.map((informer) => informer.stop()));
      for (const name of created) await client.delete({ type: namespaces, name }).catch(() => {});
      await client.close();
    });

    const aNamespace = async (): Promise<string> => {
      tests += 1;
      const name = `informer-${process.pid}-${tests}`;
      await client.create({ type: namespaces }, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
      created.push(name);
      return name;
    };
    const create = (namespace: string, name: string, team = "a"): Promise<KubeObject> =>
      client.create<KubeObject>(
        { type: configMaps, namespace },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace, labels: { informer: namespace, team } } },
      );
    const remove = (namespace: string, name: string) => client.delete({ type: configMaps, namespace, name });

    /** An informer of the ConfigMaps of one namespace, with a store that is indexed by team. */
    const inform = (
      namespace: string,
      handler: Partial<InformerHandler> = {},
    ): Readonly<{ informer: Informer; store: ObjectStore<KubeObject, "team">; wire: Wire; names: () => string[] }> => {
      const { wire, ...connection } = wired(client);
      const store = createObjectStore<KubeObject, "team">({
        transform: (object) => object,
        versionOf: ({ metadata }) => metadata.resourceVersion,
        uidOf: ({ metadata }) => metadata.uid,
        indexers: { team: ({ metadata }) => [metadata.labels?.team ?? ""] },
      });
      const informer = startInformer(
        {
          client: connection,
          type: configMaps,
          labelSelector: `informer=${namespace}`,
          clock,
          random: () => 0.5,
        },
        { ...storeHandler(store), ...handler },
      );
      running.push(informer);
      const names = (): string[] => store.list().map(({ metadata }) => metadata.name ?? "");
      return { informer, store, wire, names };
    };
    const soon = <T>(check: () => T | Promise<T>): Promise<T> =>
      vi.waitFor(
        () => {
          clock.advance(500);
          return check();
        },
        { timeout: 15_000, interval: 20 },
      );
    const listed = ({ store }: Readonly<{ store: ObjectStore<KubeObject, "team"> }>): Promise<void> =>
      soon(() => expect(store.isListed).toBe(true));

    test(`lists a collection of ${server} by pages and stores it sorted`, async () => {
      const namespace = await aNamespace();
      const all = Array.from({ length: 25 }, (_, index) => `map-${String(index).padStart(2, "0")}`);
      for (const name of all.toReversed()) await create(namespace, name);
      const { wire, store, names } = inform(namespace);
      wire.limit = 10;
      await listed({ store });
      expect(names()).toEqual(all);
      expect(wire.lists).toBe(1);
      expect(store.list()).toBe(store.list());
    });

    test(`stores what a watch of ${server} reports: created, changed and deleted objects`, async () => {
      const namespace = await aNamespace();
      await create(namespace, "before");
      const { store, names } = inform(namespace);
      await listed({ store });
      await create(namespace, "new");
      await soon(() => expect(names()).toEqual(["before", "new"]));
      await client.patch(
        { type: configMaps, namespace, name: "new" },
        { type: "merge", body: { data: { key: "value" } } },
      );
      await soon(() => expect(store.get(`${namespace}/new`)).toMatchObject({ data: { key: "value" } }));
      await remove(namespace, "before");
      await soon(() => expect(names()).toEqual(["new"]));
    });

    test(`finds entries by an index that follows changes on ${server}`, async () => {
      const namespace = await aNamespace();
      await create(namespace, "one", "a");
      await create(namespace, "two", "a");
      const { store } = inform(namespace);
      await listed({ store });
      expect(store.byIndex("team", "a")).toEqual([`${namespace}/one`, `${namespace}/two`]);
      await client.patch(
        { type: configMaps, namespace, name: "one" },
        { type: "merge", body: { metadata: { labels: { team: "b" } } } },
      );
      await soon(() => expect(store.byIndex("team", "b")).toEqual([`${namespace}/one`]));
      expect(store.byIndex("team", "a")).toEqual([`${namespace}/two`]);
      await remove(namespace, "two");
      await soon(() => expect(store.byIndex("team", "a")).toEqual([]));
    });

    test(`resumes a watch that ended without listing ${server} again`, async () => {
      const namespace = await aNamespace();
      const opened: boolean[] = [];
      const { wire, store, names } = inform(namespace, { opened: ({ isResumed }) => void opened.push(isResumed) });
      await listed({ store });
      await create(namespace, "first");
      await soon(() => expect(names()).toEqual(["first"]));
      wire.cut();
      await create(namespace, "second");
      await soon(() => expect(names()).toEqual(["first", "second"]));
      expect(wire.lists).toBe(1);
      expect(opened).toEqual([false, true]);
    });

    test(`resumes from a bookmark of ${server}`, async () => {
      const namespace = await aNamespace();
      await create(namespace, "only");
      const bookmarks: string[] = [];
      const { wire, store } = inform(namespace, { bookmark: (version) => void bookmarks.push(version) });
      // A server sends a bookmark shortly before it ends a watch.
      wire.timeoutSeconds = 3;
      await listed({ store });
      // A real server sends no bookmark while nothing of the type has changed since the start of the watch.
      await client.create(
        { type: configMaps, namespace },
        { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "not-selected", namespace } },
      );
      await soon(() => expect(bookmarks.length).toBeGreaterThan(0));
      await soon(() => expect(wire.watchedFrom.length).toBeGreaterThan(1));
      expect(bookmarks).toContain(wire.watchedFrom[1]);
    });

    test(`lists again after 410 of ${server}, and keeps an object that the list lacks as stale`, async () => {
      const namespace = await aNamespace();
      await create(namespace, "deleted");
      await create(namespace, "kept");
      const { wire, store, names } = inform(namespace);
      await listed({ store });
      wire.isSilent = true;
      await remove(namespace, "deleted");
      wire.isExpired = true;
      wire.cut();
      await soon(() => expect(wire.lists).toBe(2));
      await soon(() => expect(store.isStale(`${namespace}/deleted`)).toBe(true));
      expect(names()).toEqual(["deleted", "kept"]);
      const answered = store.request(`${namespace}/deleted`);
      answered(undefined);
      expect(names()).toEqual(["kept"]);
    });

    test(`lists again when another client leads to ${server}`, async () => {
      const namespace = await aNamespace();
      await create(namespace, "only");
      const clients = [wired(client), wired(client)];
      let current = 0;
      const lists: number[] = [];
      const informer = startInformer(
        {
          client: async () => clients[current] ?? client,
          type: configMaps,
          labelSelector: `informer=${namespace}`,
          clock,
          random: () => 0.5,
        },
        { listed: (_, { number }) => void lists.push(number), changed: () => {}, deleted: () => {} },
      );
      running.push(informer);
      await soon(() => expect(clients[0]?.wire.watchedFrom).toHaveLength(1));
      current = 1;
      clients[0]?.wire.cut();
      await soon(() => expect(lists).toEqual([1, 2]));
      await soon(() => expect(clients[1]?.wire.watchedFrom).toHaveLength(1));
      expect(clients.map(({ wire }) => wire.lists)).toEqual([1, 1]);
    });

    test(`transforms objects of ${server} before it stores them`, async () => {
      const namespace = await aNamespace();
      await create(namespace, "listed");
      const names: string[] = [];
      const informer = startInformer(
        {
          client,
          type: configMaps,
          labelSelector: `informer=${namespace}`,
          transform: ({ apiVersion, kind, metadata }) => ({
            apiVersion,
            kind,
            metadata: { name: `short ${metadata.name}` },
          }),
          clock,
          random: () => 0.5,
        },
        {
          listed: (objects) => void names.push(...objects.map(({ metadata }) => metadata.name ?? "")),
          changed: ({ metadata }) => void names.push(metadata.name ?? ""),
          deleted: () => {},
        },
      );
      running.push(informer);
      await soon(() => expect(names).toEqual(["short listed"]));
      await create(namespace, "watched");
      await soon(() => expect(names).toEqual(["short listed", "short watched"]));
    });

    test(`waits for an optional type that ${server} does not serve yet`, async () => {
      tests += 1;
      const plural = `things${process.pid}n${tests}`;
      const type: ResourceType = { group: "informer.example.dev", version: "v1", plural };
      const reported: string[] = [];
      const failures: unknown[] = [];
      const informer = startInformer(
        { client, type, isOptional: true, clock, random: () => 0.5 },
        {
          listed: (objects) => void reported.push(`listed ${objects.length}`),
          absent: ({ status }) => void reported.push(`absent ${status}`),
          changed: ({ metadata }) => void reported.push(`changed ${metadata.name}`),
          deleted: () => {},
          failed: ({ error }) => void failures.push(error),
        },
      );
      running.push(informer);
      await soon(() => expect(reported).toEqual(["absent 404"]));
      await client.create({ type: definitions }, definitionOf(type));
      try {
        await soon(() => expect(reported.at(-1)).toBe("listed 0"));
        expect(failures).toEqual([]);
      } finally {
        await informer.stop();
        await client.delete({ type: definitions, name: `${plural}.${type.group}` });
      }
    });
  });
}

function definitionOf({ group, version, plural }: ResourceType): object {
  const kind = plural.slice(0, 1).toUpperCase() + plural.slice(1);
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { plural, singular: plural, kind, listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
    },
  };
}
