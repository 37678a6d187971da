import type { SQSBatchResponse, SQSEvent } from "aws-lambda";
import { type BatchRunner, recordsOf } from "../queue/batch.ts";
import type { WorkCloud } from "./cloud.ts";
import { createFunction, type FunctionHandler, failuresOf } from "./function.ts";

import type { Host } from "./host.ts";
import { openWorkbench, workbenchReads } from "./runtime.ts";
import { createSyncWork } from "./sync-parts.ts";

/** A batch of the work queue has no more. */
const groupsAtOnce = 10;

/** Creates the function that works on keys as the work queue hands them out. */
export function createReconcile(host: Host, cloud: WorkCloud): FunctionHandler<SQSEvent, SQSBatchResponse> {
  return createFunction(host, {
    name: "reconcile",
    reads: workbenchReads,
    start: (tools) => openWorkbench(cloud, tools, { groupsAtOnce, createSyncWork }),
    handle: async (run: BatchRunner, event: SQSEvent, signal) => failuresOf(await run(recordsOf(event), signal)),
  });
}
