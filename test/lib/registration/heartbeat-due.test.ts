import { describe, expect, test } from "vitest";
import { isHeartbeatDue } from "../../../lib/registration/due.ts";

const nowMs = Date.parse("2026-01-01T00:00:00Z");
const at = (seconds: number): string => new Date(nowMs + seconds * 1000).toISOString();

const rows: Record<string, readonly [status: unknown, isDue: boolean]> = {
  "was never looked at": [undefined, true],
  "is well": [{ lastHeartbeat: at(-5) }, true],
  "was to be probed before now": [{ nextProbeTime: at(-1) }, true],
  "is to be probed before half of the period has passed": [{ nextProbeTime: at(30) }, true],
  "is to be probed later than that": [{ nextProbeTime: at(31) }, false],
  "names a time that is none": [{ nextProbeTime: "soon" }, true],
  "names something else": [{ nextProbeTime: 7 }, true],
};

describe("with a period of a minute, a cluster that", () => {
  test.each(Object.entries(rows))("%s", (_rule, [status, isDue]) => {
    const registration = { apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", metadata: {}, status };
    expect(isHeartbeatDue(registration, { nowMs, periodSeconds: 60 })).toBe(isDue);
  });
});
