import { findCondition } from "../../model/condition.ts";
import type { ObjectEvent } from "../../model/event.ts";
import type { SyncStatus } from "../sync-objects.ts";
import type { Outcome } from "../targets/apply.ts";

/** What people hear of what was written to clusters. The same words are one Event, however often they are said. */
export function eventsOfWrites(
  outcomes: readonly Pick<Outcome, "record" | "wrote" | "isTransformed">[],
): readonly ObjectEvent[] {
  return outcomes.flatMap(({ record: { name }, wrote, isTransformed }): ObjectEvent[] => [
    ...(wrote === "drifted"
      ? [{ type: "Normal" as const, reason: "DriftReverted", message: `put back on ${name} what was changed there` }]
      : []),
    ...(wrote !== undefined && isTransformed === true
      ? [
          {
            type: "Normal" as const,
            reason: "Transformed",
            message: `changed for ${name} by the placement's overrides`,
          },
        ]
      : []),
  ]);
}

/** What people hear of: each state that a copy comes into, once. */
export function eventsBetween(before: SyncStatus | undefined, after: SyncStatus): readonly ObjectEvent[] {
  const known = new Map((before?.clusters ?? []).map((entry) => [entry.name, entry]));
  const events = (after.clusters ?? []).flatMap((copy): ObjectEvent[] => {
    const old = known.get(copy.name);
    const isNew = old?.state !== copy.state || old.reason !== copy.reason;
    const words = `${copy.name}: ${copy.message ?? copy.reason ?? ""}`;
    if (isNew && copy.state === "Failed") return [{ type: "Warning", reason: "SyncFailed", message: words }];
    if (isNew && copy.state === "Held") return [{ type: "Warning", reason: "DeletionsHeld", message: words }];
    if (isNew && copy.reason === "ReferenceMissing") {
      return [{ type: "Warning", reason: "ReferenceMissing", message: words }];
    }
    if (copy.applied !== undefined && old?.applied === undefined) {
      return [{ type: "Normal", reason: "Synced", message: `written to ${copy.name}` }];
    }
    return [];
  });
  const isStalled = findCondition(after.conditions, "Stalled");
  if (isStalled?.status !== "True" || findCondition(before?.conditions, "Stalled")?.status === "True") return events;
  return [...events, { type: "Warning", reason: "Stalled", message: isStalled.message }];
}
