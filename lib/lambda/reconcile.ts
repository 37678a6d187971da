import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { type BatchRunner, batchRecordsOf } from "../queue/batch.ts";
import { batchResponse, createFunction, type FunctionHandler } from "./function.ts";
import type { Host } from "./host.ts";
import { openRuntime, runtimeEnvironmentNames } from "./runtime.ts";
import { createSyncWork } from "./sync-work.ts";
import type { ReconcileClients } from "./upstream.ts";

/** The largest batch of a FIFO queue. */
const maxConcurrentKeys = 10;

/** Creates the function that reconciles the keys of the work queue. */
export function createReconcileFunction(
  host: Host,
  clients: ReconcileClients,
): FunctionHandler<SQSEvent, SQSBatchResponse> {
  return createFunction(host, {
    name: "reconcile",
    environmentNames: runtimeEnvironmentNames,
    start: (tools) => openRuntime(clients, tools, { maxConcurrentKeys, createSyncWork }),
    handle: async (run: BatchRunner, event: SQSEvent, signal) =>
      batchResponse(await run(batchRecordsOf(event), signal)),
  });
}
