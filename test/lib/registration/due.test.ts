import { describe, expect, it } from "vitest";
import { type Due, type DueFacts, decideDue, isHeartbeatDue } from "../../../lib/registration/due.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { aRegistration, aStatus } from "./registrations.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const known = aRegistration({ status: aStatus({}, { capabilitiesDetected: "2026-01-01T00:00:00Z" }) });
const unsettled = aRegistration({
  status: aStatus({}, { consecutiveFailures: 1, nextProbeTime: "2026-01-01T00:00:30Z" }),
});
const now = (detect: boolean): Due => ({ kind: "now", detect });

describe("decideDue", () => {
  const cases: Record<string, { given: Partial<DueFacts>; due: Due }> = {
    "probes a registration without a condition for any trigger": {
      given: { registration: aRegistration(), trigger: "other", lastProbeMs: startMs },
      due: now(true),
    },
    "probes a registration with a new spec even within the interval": {
      given: { registration: aRegistration({ metadata: { generation: 2 }, status: aStatus() }), lastProbeMs: startMs },
      due: now(true),
    },
    "probes on demand even before nextProbeTime": {
      given: { registration: unsettled, trigger: "on-demand" },
      due: now(true),
    },
    "probes for a heartbeat without detection within ten minutes": { given: { trigger: "heartbeat" }, due: now(false) },
    "detects again after ten minutes": { given: { trigger: "heartbeat", nowMs: startMs + 600_000 }, due: now(true) },
    "does not detect again if this process has just detected": {
      given: { trigger: "heartbeat", nowMs: startMs + 600_000, lastDetectionMs: startMs + 590_000 },
      due: now(false),
    },
    "does not detect with every probe because the clock of another controller is ahead": {
      given: { trigger: "heartbeat", nowMs: startMs - 60_000, lastDetectionMs: startMs - 90_000 },
      due: now(false),
    },
    "detects again after a failed probe": {
      given: { registration: unsettled, trigger: "heartbeat", nowMs: startMs + 30_000 },
      due: now(true),
    },
    "probes for another trigger if the last probe of this process is older than the interval": {
      given: { lastProbeMs: startMs - 1, nowMs: startMs + 30_000 },
      due: now(false),
    },
    "does not probe for a resync if a heartbeat may only be late": {
      given: { trigger: "resync", lastProbeMs: startMs, nowMs: startMs + 44_999 },
      due: { kind: "not-due" },
    },
    "probes for a resync if a heartbeat was missed": {
      given: { trigger: "resync", lastProbeMs: startMs, nowMs: startMs + 45_000 },
      due: now(false),
    },
    "does not probe for another trigger if this process has just probed": {
      given: { lastProbeMs: startMs, nowMs: startMs + 29_999 },
      due: { kind: "not-due" },
    },
    "does not probe for another trigger if another process has just probed": {
      given: { lastProbeMs: undefined, nowMs: startMs + 10_000 },
      due: { kind: "not-due" },
    },
    "does not probe for a heartbeat before nextProbeTime": {
      given: { registration: unsettled, trigger: "heartbeat", nowMs: startMs + 10_500 },
      due: { kind: "later", afterSeconds: 20 },
    },
    "probes for any trigger at nextProbeTime": {
      given: { registration: unsettled, trigger: "other", nowMs: startMs + 30_000, lastProbeMs: startMs },
      due: now(true),
    },
    "ignores a nextProbeTime that is too far in the future": {
      given: {
        registration: aRegistration({ status: aStatus({}, { nextProbeTime: "2036-01-01T00:00:00Z" }) }),
        trigger: "heartbeat",
      },
      due: now(true),
    },
  };
  for (const [rule, { given, due }] of Object.entries(cases)) {
    it(rule, () => {
      const defaults: DueFacts = {
        registration: known,
        trigger: "other",
        lastProbeMs: undefined,
        lastDetectionMs: undefined,
        nowMs: startMs + 5_000,
        settings,
      };
      expect(decideDue({ ...defaults, ...given })).toEqual(due);
    });
  }
});

describe("isHeartbeatDue with a period of 60 seconds", () => {
  const secondsAfter = (seconds: number): string => new Date(startMs + seconds * 1000).toISOString();
  const cases: Record<string, readonly [status: unknown, isDue: boolean]> = {
    "sends a heartbeat for a cluster that was never probed": [undefined, true],
    "sends a heartbeat for a healthy cluster": [{ lastHeartbeat: secondsAfter(-5) }, true],
    "sends a heartbeat after nextProbeTime": [{ nextProbeTime: secondsAfter(-1) }, true],
    "sends a heartbeat if nextProbeTime is in the first half of the period": [
      { nextProbeTime: secondsAfter(30) },
      true,
    ],
    "sends no heartbeat if nextProbeTime is in the second half of the period": [
      { nextProbeTime: secondsAfter(31) },
      false,
    ],
    "sends a heartbeat if nextProbeTime is further ahead than the period, as after a clock was set back": [
      { nextProbeTime: secondsAfter(61) },
      true,
    ],
    "sends a heartbeat if nextProbeTime is not a timestamp": [{ nextProbeTime: "soon" }, true],
    "sends a heartbeat if nextProbeTime is not a string": [{ nextProbeTime: 7 }, true],
  };
  it.each(Object.entries(cases))("%s", (_, [status, isDue]) => {
    const registration = { apiVersion: "tmc.kcp.io/v1alpha1", kind: "ClusterRegistration", metadata: {}, status };
    expect(isHeartbeatDue(registration, { nowMs: startMs, periodSeconds: 60 })).toBe(isDue);
  });
});
