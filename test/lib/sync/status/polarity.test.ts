import { expect, it } from "vitest";
import { hasNegativePolarity } from "../../../../lib/sync/status/conditions.ts";

const bad = [
  "ReplicaFailure",
  "Failed",
  "FailureTarget",
  "Suspended",
  "MemoryPressure",
  "Stalled",
  "Degraded",
  "Reconciling",
  "NotReady",
  "ScalingLimited",
  "LoadBalancerPortsError",
  "example.com/QuotaExceeded",
];
const good = ["Ready", "Available", "Progressing", "Complete", "AbleToScale", "Notified", "example.com/Synced"];

it.each(bad)("the condition %s has negative polarity", (type) => expect(hasNegativePolarity(type)).toBe(true));
it.each(good)("the condition %s has positive polarity", (type) => expect(hasNegativePolarity(type)).toBe(false));
