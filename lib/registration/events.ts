import type { Condition } from "../model/condition.ts";
import type { ObjectEvent } from "../model/event.ts";
import type { Look } from "./probe-outcome.ts";

/** The condition Ready of a registration before and after it says what a look has shown. */
export type Turn = Readonly<{ look: Look; before: Condition | undefined; after: Condition | undefined }>;

/**
 * What people hear of a look, as an Event beside the registration: that the cluster has turned not Ready, and why.
 *
 * A cluster that stays so is told again only for another reason: what a dying network says changes with every probe. A look
 * that went well is never told; how the cluster is and when it was last heard from is in its status.
 */
export function eventsOfLook({ look, before, after }: Turn): readonly ObjectEvent[] {
  if (look.kind === "healthy" || after?.status !== "False") return [];
  if (before?.status === "False" && before.reason === after.reason) return [];
  return [{ type: "Warning", reason: "HeartbeatFailed", message: `${after.reason}: ${after.message}` }];
}
