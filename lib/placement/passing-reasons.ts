import type { DecisionReason } from "./reasons.ts";

/** What a cluster's own state can be that makes work leave it; when that passes, the work can return. */
export const passingReasons: ReadonlySet<DecisionReason> = new Set([
  "NotReady",
  "UntoleratedTaint",
  "CapabilityMissing",
] satisfies DecisionReason[]);
