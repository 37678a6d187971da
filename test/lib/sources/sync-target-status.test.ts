import { expect, test } from "vitest";
import { syncTargetPatch } from "../../../lib/sources/sync-target-status.ts";
import { aStatus } from "../registration/registrations.ts";
import { aSyncTarget, ready } from "./objects.ts";

const time = "2026-01-01T00:00:00Z";
const [wanted] = aStatus().conditions ?? [];
const other = { type: "SyncerReady", status: "True", reason: "SyncerConnected", message: "", lastTransitionTime: time };

const cases: Record<string, { status?: object; patch: object | undefined }> = {
  "a target without a status gets Ready, and the heartbeat under both names": {
    patch: { conditions: [wanted], lastHeartbeatTime: time, lastSyncerHeartbeatTime: time },
  },
  "conditions of others stay, each in its place": {
    status: { conditions: [other, ready("False", "ConnectionUnhealthy")], lastHeartbeatTime: time },
    patch: { conditions: [other, wanted] },
  },
  "a heartbeat is written where the target has one": {
    status: { conditions: [wanted], lastHeartbeat: "2025-12-31T23:59:00Z" },
    patch: { lastHeartbeat: time },
  },
  "in a field below another too": {
    status: { conditions: [wanted], heartbeat: { count: 3, lastHeartbeat: "2025-12-31T23:59:00Z" } },
    patch: { heartbeat: { lastHeartbeat: time } },
  },
  "the same moment in other words is the same": {
    status: { conditions: [wanted], heartbeatTime: "2026-01-01T00:00:00.000Z" },
    patch: undefined,
  },
  "what a schema has left out of the condition is no difference": {
    status: {
      conditions: [{ type: "Ready", status: "True", reason: wanted?.reason, message: wanted?.message }],
      lastHeartbeatTime: time,
    },
    patch: undefined,
  },
};
test.each(Object.entries(cases))("%s", (_, { status, patch }) => {
  expect(syncTargetPatch(aSyncTarget("east", { ...(status && { status }) }), aStatus())).toEqual(patch);
});
test("a cluster that never answered has no heartbeat to write", () => {
  const { lastHeartbeat: _, ...never } = aStatus({ status: "False" });
  expect(syncTargetPatch(aSyncTarget("east"), never)).toEqual({ conditions: never.conditions });
});
