import type { Collection, KubeClient, WatchEvent, WatchOptions } from "@tmc/kube/client.ts";
import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, expect, test, vi } from "vitest";
import { type EndpointWatch, watchEndpoint } from "../../../lib/relay/endpoint-watch.ts";
import { createChangeTracker } from "../../../lib/relay/event-to-key/change-tracker.ts";
import { reconciledTypes } from "../../../lib/upstream/watched-resources.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const binding = (logicalCluster: string): KubeObject => ({
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIBinding",
  metadata: { name: "tmc", resourceVersion: "5", annotations: { "kcp.io/cluster": logicalCluster } },
  status: { conditions: [{ type: "Ready", status: "True" }] },
});
const placement = (logicalCluster: string): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: {
    name: "web",
    uid: logicalCluster,
    resourceVersion: "5",
    annotations: { "kcp.io/cluster": logicalCluster },
  },
});

/** An endpoint whose list responses and watch events are triggered by the test. */
function anEndpoint() {
  const lists: { plural: string; answer: (items: readonly KubeObject[]) => void }[] = [];
  const watches = new Map<string, (event: WatchEvent) => void>();
  const list = ({ type }: Collection, { signal }: { signal?: AbortSignal } = {}): Promise<KubeList> =>
    new Promise((resolve, reject) => {
      const answer = (items: readonly KubeObject[]): void =>
        resolve({ apiVersion: "v1", kind: "List", metadata: { resourceVersion: "4" }, items: [...items] });
      lists.push({ plural: type.plural, answer });
      signal?.addEventListener("abort", () => reject(new Error("aborted")), { once: true });
    });
  const watch = async function* ({ type }: Collection, { signal }: WatchOptions = {}) {
    const events: WatchEvent[] = [];
    let resume = (): void => {};
    signal?.addEventListener("abort", () => resume(), { once: true });
    watches.set(type.plural, (event) => {
      events.push(event);
      resume();
    });
    while (signal?.aborted !== true) {
      const event = events.shift();
      if (event !== undefined) yield event;
      else await new Promise<void>((resolve) => (resume = resolve));
    }
  };
  const client = { list, listAll: list, watch, metadata: { list, listAll: list, watch } } as unknown as KubeClient;
  /** Responds to the oldest pending list request of a type. */
  const answer = async (plural: string, items: readonly KubeObject[] = []): Promise<void> => {
    await vi.waitFor(() => expect(lists.map((each) => each.plural)).toContain(plural));
    const at = lists.findIndex((each) => each.plural === plural);
    lists.splice(at, 1)[0]?.answer(items);
  };
  const emit = async (plural: string, object: KubeObject): Promise<void> => {
    await vi.waitFor(() => expect(watches.has(plural)).toBe(true));
    watches.get(plural)?.({ type: "ADDED", object });
  };
  return { client, lists, answer, emit };
}

function aWatch() {
  const endpoint = anEndpoint();
  const clock = createManualClock();
  const sent: string[] = [];
  const tracker = createChangeTracker({
    queue: { send: async (items) => void sent.push(...items.map(({ key }) => `${key.logicalCluster} ${key.name}`)) },
    clock,
    random: () => 0.5,
    listener: {},
    onListed: () => {},
  });
  const watched: EndpointWatch = watchEndpoint({
    endpoint: { url: "https://shard.example.com", at: () => endpoint.client },
    types: reconciledTypes,
    tracker,
    listener: {},
    transform: (object) => object,
    clock,
    random: () => 0.5,
    relistSeconds: 1_800,
    onTenants: (logicalClusters) => {
      for (const logicalCluster of logicalClusters) {
        if (watched.hasTenant(logicalCluster)) watched.engage(logicalCluster);
        else watched.release(logicalCluster);
      }
    },
  });
  ends.push(() => watched.stop());
  return { ...endpoint, clock, sent, tracker };
}

test("a list that began before a tenant was bound does not count for it, because it may lack the tenant's objects", async () => {
  const { answer, emit, lists, clock, sent, tracker } = aWatch();
  await answer("apibindings", [binding("first")]);
  await vi.waitFor(() => expect(lists).toHaveLength(2));
  await emit("apibindings", binding("second"));
  await vi.waitFor(() => expect(tracker.has("second")).toBe(true));
  await answer("clusterregistrations");
  await answer("workloadplacements", [placement("first"), placement("second")]);
  await vi.waitFor(() => expect(sent).toEqual(["first web"]));
  expect(tracker.unlisted()).toEqual(["second"]);

  clock.advance(300);
  await answer("workloadplacements", [placement("first"), placement("second")]);
  await answer("clusterregistrations");
  await vi.waitFor(() => expect(sent).toEqual(["first web", "second web"]));
});

test("lists no kind before a tenant is bound", async () => {
  const { answer, lists, tracker, clock } = aWatch();
  await answer("apibindings");
  clock.advance(10_000);
  await Promise.resolve();
  expect([lists, tracker.unlisted()]).toEqual([[], []]);
});

test("ignores objects of logical clusters that are not tenants", async () => {
  const { answer, emit, sent } = aWatch();
  await answer("apibindings", [binding("first")]);
  await answer("clusterregistrations");
  await answer("workloadplacements", [placement("unbound")]);
  await emit("workloadplacements", placement("unbound"));
  await emit("workloadplacements", placement("first"));
  await vi.waitFor(() => expect(sent).toEqual(["first web"]));
});
