import { describe, expect, it } from "vitest";
import { type Due, type DueFacts, decideDue } from "../../../lib/registration/due.ts";
import { defaultRegistrationSettings as settings } from "../../../lib/registration/settings.ts";
import { aRegistration, aStatus } from "./registrations.ts";

const startMs = Date.parse("2026-01-01T00:00:00Z");
const known = aRegistration({ status: aStatus({}, { capabilitiesDetected: "2026-01-01T00:00:00Z" }) });
const doubted = aRegistration({
  status: aStatus({}, { consecutiveFailures: 1, nextProbeTime: "2026-01-01T00:00:30Z" }),
});
const now = (detect: boolean): Due => ({ kind: "now", detect });

describe("when a cluster is looked at", () => {
  const cases: Record<string, { given: Partial<DueFacts>; due: Due }> = {
    "a registration that was never looked at, whatever the occasion": {
      given: { registration: aRegistration(), occasion: "passing", lastProbeMs: startMs },
      due: now(true),
    },
    "a new spec, even within the interval": {
      given: { registration: aRegistration({ metadata: { generation: 2 }, status: aStatus() }), lastProbeMs: startMs },
      due: now(true),
    },
    "a person's wish, even while its health is in doubt": {
      given: { registration: doubted, occasion: "on-demand" },
      due: now(true),
    },
    "a heartbeat, and what it is only every ten minutes": { given: { occasion: "heartbeat" }, due: now(false) },
    "what it is, after ten minutes": { given: { occasion: "heartbeat", nowMs: startMs + 600_000 }, due: now(true) },
    "what it is, not when this process has just looked": {
      given: { occasion: "heartbeat", nowMs: startMs + 600_000, lastDetectionMs: startMs + 590_000 },
      due: now(false),
    },
    "what it is, not again and again because another clock is ahead": {
      given: { occasion: "heartbeat", nowMs: startMs - 60_000, lastDetectionMs: startMs - 90_000 },
      due: now(false),
    },
    "what it is, after a failure": {
      given: { registration: doubted, occasion: "heartbeat", nowMs: startMs + 30_000 },
      due: now(true),
    },
    "in passing, when the last probe of this process is older than the interval": {
      given: { lastProbeMs: startMs - 1, nowMs: startMs + 30_000 },
      due: now(false),
    },
    "by a resync, not where a heartbeat may only be late": {
      given: { occasion: "resync", lastProbeMs: startMs, nowMs: startMs + 44_999 },
      due: { kind: "not-due" },
    },
    "by a resync, where a heartbeat was missed": {
      given: { occasion: "resync", lastProbeMs: startMs, nowMs: startMs + 45_000 },
      due: now(false),
    },
    "in passing, not when this process has just probed": {
      given: { lastProbeMs: startMs, nowMs: startMs + 29_999 },
      due: { kind: "not-due" },
    },
    "in passing, not when another process has just probed": {
      given: { lastProbeMs: undefined, nowMs: startMs + 10_000 },
      due: { kind: "not-due" },
    },
    "while its health is in doubt, not before the time that all share": {
      given: { registration: doubted, occasion: "heartbeat", nowMs: startMs + 10_500 },
      due: { kind: "later", afterSeconds: 20 },
    },
    "while its health is in doubt, at that time": {
      given: { registration: doubted, occasion: "passing", nowMs: startMs + 30_000, lastProbeMs: startMs },
      due: now(true),
    },
    "a time too far off puts nothing out of sight": {
      given: {
        registration: aRegistration({ status: aStatus({}, { nextProbeTime: "2036-01-01T00:00:00Z" }) }),
        occasion: "heartbeat",
      },
      due: now(true),
    },
  };
  for (const [rule, { given, due }] of Object.entries(cases)) {
    it(rule, () => {
      const usual: DueFacts = {
        registration: known,
        occasion: "passing",
        lastProbeMs: undefined,
        lastDetectionMs: undefined,
        nowMs: startMs + 5_000,
        settings,
      };
      expect(decideDue({ ...usual, ...given })).toEqual(due);
    });
  }
});
