import { expect, test } from "vitest";
import type { KubeClient, ListOptions } from "../../src/client.ts";
import { listByPages } from "../../src/informer/paged-list.ts";
import type { KubeList, KubeObject } from "../../src/kube-object.ts";

const type = { group: "", version: "v1", plural: "configmaps" };
const object = (name: string): KubeObject => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name } });

/** A server with three pages of one object each; what was done is in the log, in order. */
function threePages() {
  const log: string[] = [];
  const list = async (_: unknown, { continue: token = "0" }: ListOptions = {}): Promise<KubeList> => {
    log.push(`ask ${token}`);
    const next = Number(token) + 1;
    return {
      apiVersion: "v1",
      kind: "List",
      metadata: { resourceVersion: "7", ...(next < 3 ? { continue: `${next}` } : {}) },
      items: [object(token)],
    };
  };
  const transform = (each: KubeObject): KubeObject => {
    log.push(`take ${each.metadata.name}`);
    return each;
  };
  // Only these two are asked for.
  const client = { list, listAll: list } as unknown as Pick<KubeClient, "list" | "listAll">;
  return { client, transform, log };
}

test("requests the next page while the current one is transformed", async () => {
  const { client, transform, log } = threePages();
  const { items, metadata } = await listByPages(client, { transform }, { type });
  expect(items.map((each) => each.metadata.name)).toEqual(["0", "1", "2"]);
  expect(metadata.resourceVersion).toBe("7");
  expect(log).toEqual(["ask 0", "ask 1", "take 0", "ask 2", "take 1", "take 2"]);
});

test("waits once, after the first page, for beforeSecondPage", async () => {
  const { client, transform, log } = threePages();
  const beforeSecondPage = async (): Promise<void> => void log.push("wait");
  await listByPages(client, { transform, beforeSecondPage }, { type });
  expect(log.slice(0, 3)).toEqual(["ask 0", "wait", "ask 1"]);
  expect(log.filter((line) => line === "wait")).toHaveLength(1);
});
