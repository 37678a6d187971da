import type { Collection, KubeClient, WatchEvent, WatchOptions } from "@tmc/kube/client.ts";
import type { KubeList, KubeObject } from "@tmc/kube/kube-object.ts";
import { afterEach, expect, test, vi } from "vitest";
import { createLedger } from "../../../lib/relay/change-tracker.ts";
import { type EndpointWatch, watchEndpoint } from "../../../lib/relay/endpoint-watch.ts";
import { reconciledTypes } from "../../../lib/upstream/reconciled-types.ts";
import { createManualClock } from "../../support/manual-clock.ts";

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const binding = (cluster: string): KubeObject => ({
  apiVersion: "apis.kcp.io/v1alpha2",
  kind: "APIBinding",
  metadata: { name: "tmc", resourceVersion: "5", annotations: { "kcp.io/cluster": cluster } },
  status: { conditions: [{ type: "Ready", status: "True" }] },
});
const placement = (cluster: string): KubeObject => ({
  apiVersion: "tmc.kcp.io/v1alpha1",
  kind: "WorkloadPlacement",
  metadata: { name: "web", uid: cluster, resourceVersion: "5", annotations: { "kcp.io/cluster": cluster } },
});

/** An endpoint whose lists are answered and whose watches tell when a test says so. */
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
    let wake = (): void => {};
    signal?.addEventListener("abort", () => wake(), { once: true });
    watches.set(type.plural, (event) => {
      events.push(event);
      wake();
    });
    while (signal?.aborted !== true) {
      const event = events.shift();
      if (event !== undefined) yield event;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  };
  const client = { list, listAll: list, watch, metadata: { list, listAll: list, watch } } as unknown as KubeClient;
  /** Answers the list of a type that was asked for first and waits. */
  const answer = async (plural: string, items: readonly KubeObject[] = []): Promise<void> => {
    await vi.waitFor(() => expect(lists.map((each) => each.plural)).toContain(plural));
    const at = lists.findIndex((each) => each.plural === plural);
    lists.splice(at, 1)[0]?.answer(items);
  };
  const tell = async (plural: string, object: KubeObject): Promise<void> => {
    await vi.waitFor(() => expect(watches.has(plural)).toBe(true));
    watches.get(plural)?.({ type: "ADDED", object });
  };
  return { client, lists, answer, tell };
}

function aWatch() {
  const endpoint = anEndpoint();
  const clock = createManualClock();
  const sent: string[] = [];
  const ledger = createLedger({
    queue: { send: async (items) => void sent.push(...items.map(({ key }) => `${key.logicalCluster} ${key.name}`)) },
    clock,
    random: () => 0.5,
    listener: {},
    onListed: () => {},
  });
  const watched: EndpointWatch = watchEndpoint({
    endpoint: { url: "https://shard.example.com", at: () => endpoint.client },
    types: reconciledTypes,
    ledger,
    listener: {},
    slim: (object) => object,
    clock,
    random: () => 0.5,
    relistSeconds: 1_800,
    onRoll: (clusters) => {
      for (const cluster of clusters) {
        if (watched.shows(cluster)) watched.engage(cluster);
        else watched.release(cluster);
      }
    },
  });
  ends.push(() => watched.stop());
  return { ...endpoint, clock, sent, ledger };
}

test("a list that began before a tenant came does not count for it: what it read may lack that tenant", async () => {
  const { answer, tell, lists, clock, sent, ledger } = aWatch();
  await answer("apibindings", [binding("first")]);
  await vi.waitFor(() => expect(lists).toHaveLength(2));
  await tell("apibindings", binding("second"));
  await vi.waitFor(() => expect(ledger.has("second")).toBe(true));
  await answer("clusterregistrations");
  await answer("workloadplacements", [placement("first"), placement("second")]);
  await vi.waitFor(() => expect(sent).toEqual(["first web"]));
  expect(ledger.unlisted()).toEqual(["second"]);

  clock.advance(300);
  await answer("workloadplacements", [placement("first"), placement("second")]);
  await answer("clusterregistrations");
  await vi.waitFor(() => expect(sent).toEqual(["first web", "second web"]));
});

test("no kind is listed before there is a tenant", async () => {
  const { answer, lists, ledger, clock } = aWatch();
  await answer("apibindings");
  clock.advance(10_000);
  await Promise.resolve();
  expect([lists, ledger.unlisted()]).toEqual([[], []]);
});

test("objects of whoever is no tenant are passed over", async () => {
  const { answer, tell, sent } = aWatch();
  await answer("apibindings", [binding("first")]);
  await answer("clusterregistrations");
  await answer("workloadplacements", [placement("stranger")]);
  await tell("workloadplacements", placement("stranger"));
  await tell("workloadplacements", placement("first"));
  await vi.waitFor(() => expect(sent).toEqual(["first web"]));
});
