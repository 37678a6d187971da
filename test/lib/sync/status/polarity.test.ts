import { expect, it } from "vitest";
import { isBadNews } from "../../../../lib/sync/status/conditions.ts";

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

it.each(bad)("%s is bad news when it is true", (type) => expect(isBadNews(type)).toBe(true));
it.each(good)("%s is good news when it is true", (type) => expect(isBadNews(type)).toBe(false));
