import { afterEach, beforeEach, expect, test } from "vitest";
import { createReconcileFunction } from "../../lib/lambda/reconcile.ts";
import type { ObjectKey } from "../../lib/model/key.ts";
import { aPlacement, aRegistration, placements, registrations } from "../lib/upstream/tenants.ts";
import { statusOf } from "../support/controller-environment.ts";
import {
  contextOf,
  type FunctionsEnvironment,
  messageOf,
  startFunctionsEnvironment,
} from "../support/functions-environment.ts";
import { eventOf, type Sent } from "./recording-sqs.ts";

let stage: FunctionsEnvironment;
beforeEach(async () => {
  stage = await startFunctionsEnvironment();
});
afterEach(() => stage.stop());

type Message = Pick<Sent, "body" | "groupId" | "sentMs">;

/**
 * Delivers messages to concurrent consumers as SQS does for a FIFO queue: in order, `batchSize` at a time, and none of a group
 * of which another consumer has a message.
 */
async function deliver(
  messages: readonly Message[],
  consumers: readonly ((batch: readonly Message[]) => Promise<unknown>)[],
  batchSize: number,
): Promise<void> {
  const waiting = [...messages];
  const lockedGroups = new Set<string | undefined>();
  let running = 0;
  const receive = (): readonly Message[] => {
    const batch = waiting.filter(({ groupId }) => !lockedGroups.has(groupId)).slice(0, batchSize);
    for (const message of batch) {
      waiting.splice(waiting.indexOf(message), 1);
      lockedGroups.add(message.groupId);
    }
    return batch;
  };
  await new Promise<void>((resolve, reject) => {
    const idle = [...consumers];
    const dispatch = (): void => {
      for (let consumer = idle.shift(); consumer !== undefined; consumer = idle.shift()) {
        const own = consumer;
        const batch = receive();
        if (batch.length === 0) {
          idle.unshift(own);
          break;
        }
        running += 1;
        own(batch).then(() => {
          running -= 1;
          for (const { groupId } of batch) lockedGroups.delete(groupId);
          idle.push(own);
          dispatch();
        }, reject);
      }
      if (running === 0 && waiting.length === 0) resolve();
    };
    dispatch();
  });
}

test.each([1, 3, 10])(
  "twenty concurrent functions distribute the placements of a tenant evenly, with batches of %i",
  async (batchSize) => {
    const clusters = ["a", "b", "c", "d"];
    const ready = { type: "Ready", status: "True", reason: "ClusterReady", lastTransitionTime: "2030-01-01T00:00:00Z" };
    for (const name of clusters) {
      const created = await stage.client.create(registrations, aRegistration(name));
      const status = { conditions: [{ ...ready, message: "" }] };
      await stage.client.update({ ...registrations, name }, { ...created, status }, { subresource: "status" });
    }
    const names = Array.from({ length: 40 }, (_, index) => `web-${index}`);
    for (const name of names) await stage.client.create(placements, aPlacement(name));
    const keyOf = (name: string): ObjectKey => ({ logicalCluster: stage.cluster, kind: "WorkloadPlacement", name });
    // Each function is a process of its own, with its own counts.
    const functions = Array.from({ length: 20 }, () => {
      const handler = createReconcileFunction(stage.host(), stage.cloud);
      return async (batch: readonly Message[]) =>
        expect(await handler(eventOf(batch), contextOf())).toEqual({ batchItemFailures: [] });
    });
    await deliver(
      names.map((name) => messageOf(keyOf(name))),
      functions,
      batchSize,
    );
    const counts = new Map<string, number>();
    for (const name of names) {
      const [selected = "none"] = statusOf(await stage.client.get({ ...placements, name }))
        .selectedClusters as string[];
      counts.set(selected, (counts.get(selected) ?? 0) + 1);
    }
    expect(Object.fromEntries(counts)).toEqual({ a: 10, b: 10, c: 10, d: 10 });
  },
);
