import { expect, test } from "vitest";
import { syncTargetPatch } from "../../../lib/sources/sync-target-status.ts";
import { aStatus } from "../registration/registrations.ts";
import { aSyncTarget, ready } from "./objects.ts";

const time = "2026-01-01T00:00:00Z";
const [condition] = aStatus().conditions ?? [];
const other = { type: "SyncerReady", status: "True", reason: "SyncerConnected", message: "", lastTransitionTime: time };

const cases: Record<string, { status?: object; patch: object | undefined }> = {
  "a target without a status gets Ready and both heartbeat fields": {
    patch: { conditions: [condition], lastHeartbeatTime: time, lastSyncerHeartbeatTime: time },
  },
  "other conditions keep their position": {
    status: { conditions: [other, ready("False", "ConnectionUnhealthy")], lastHeartbeatTime: time },
    patch: { conditions: [other, condition] },
  },
  "the heartbeat is written to the field that the target has": {
    status: { conditions: [condition], lastHeartbeat: "2025-12-31T23:59:00Z" },
    patch: { lastHeartbeat: time },
  },
  "the heartbeat is written to a nested field": {
    status: { conditions: [condition], heartbeat: { count: 3, lastHeartbeat: "2025-12-31T23:59:00Z" } },
    patch: { heartbeat: { lastHeartbeat: time } },
  },
  "an equal timestamp in another format is not written": {
    status: { conditions: [condition], heartbeatTime: "2026-01-01T00:00:00.000Z" },
    patch: undefined,
  },
  "condition fields that the schema drops are not compared": {
    status: {
      conditions: [{ type: "Ready", status: "True", reason: condition?.reason, message: condition?.message }],
      lastHeartbeatTime: time,
    },
    patch: undefined,
  },
};
test.each(Object.entries(cases))("%s", (_, { status, patch }) => {
  expect(syncTargetPatch(aSyncTarget("east", { ...(status && { status }) }), aStatus())).toEqual(patch);
});
test("no heartbeat is written for a cluster that never responded", () => {
  const { lastHeartbeat: _, ...never } = aStatus({ status: "False" });
  expect(syncTargetPatch(aSyncTarget("east"), never)).toEqual({ conditions: never.conditions });
});
