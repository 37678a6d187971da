import { byKey } from "@tmc/kube/compare.ts";
import { type Condition, type DecidedCondition, withCondition } from "../model/condition.ts";
import { parseWorkloadKey } from "../model/key.ts";
import type { Inventory } from "./inventory.ts";
import type { OptInBlocker } from "./opt-in.ts";
import type { UpsyncReason } from "./reasons.ts";

/** The conditions of a registration that upsync writes. */
export const upsyncConditions = ["UpsyncReady", "UpsyncConflict", "UpsyncHeld"] as const;

export type UpsyncConditionFacts = Readonly<{
  before: readonly Condition[];
  /** Whether the registration opts in to any type. */
  isRequested: boolean;
  blockers: readonly OptInBlocker[];
  /** Undefined while the cluster's objects cannot be listed: conditions that depend on them stay unchanged. */
  inventory: Inventory | undefined;
  /** Key name → message of the upstream API server that rejects the object. */
  rejected: ReadonlyMap<string, string>;
  now: string;
}>;

/** The most names that a condition message lists. */
const maxListed = 5;

/** Decides the upsync conditions of a registration. Returns the same list when nothing differs. */
export function decideUpsyncConditions(facts: UpsyncConditionFacts): readonly Condition[] {
  const { before, isRequested, blockers, inventory, rejected, now } = facts;
  const isUpsyncs = ({ type }: Condition): boolean => upsyncConditions.some((each) => each === type);
  if (!isRequested) return before.some(isUpsyncs) ? before.filter((each) => !isUpsyncs(each)) : before;
  const desired: DecidedCondition[] = [];
  const ready = readyCondition(blockers, inventory, rejected);
  if (ready !== undefined) desired.push(ready);
  if (inventory !== undefined) {
    const has = (name: string): boolean => before.some(({ type }) => type === name);
    const { nameTaken, heldMessage } = inventory;
    const heldBefore = before.find(({ type }) => type === "UpsyncHeld");
    if (nameTaken.length > 0 || has("UpsyncConflict")) desired.push(conflictCondition(nameTaken));
    if (heldMessage !== undefined || heldBefore !== undefined) desired.push(heldCondition(inventory, heldBefore));
  }
  return desired.reduce((conditions, each) => withCondition(conditions, each, now), before);
}

/** Whether any of the conditions has this reason. */
export function hasReason(conditions: readonly Condition[] | undefined, reason: UpsyncReason): boolean {
  return conditions?.some((each) => each.reason === reason) === true;
}

/** The number of deletions that the UpsyncHeld condition reports; 0 when none are held. */
export function countHeldDeletions({ heldMessage, missingDownstream }: Inventory): number {
  return heldMessage === undefined ? 0 : missingDownstream.length;
}

function readyCondition(
  blockers: readonly OptInBlocker[],
  inventory: Inventory | undefined,
  rejected: ReadonlyMap<string, string>,
): DecidedCondition | undefined {
  const missing = [...new Set((inventory?.namespaceMissing ?? []).map(namespaceOf))];
  const all: readonly OptInBlocker[] = [
    ...blockers,
    ...(missing.length === 0
      ? []
      : [{ reason: "NamespaceMissing" as const, message: `the workspace has no namespace ${formatList(missing)}` }]),
    ...[...rejected]
      .toSorted(byKey)
      .slice(0, maxListed)
      .map(([name, message]) => ({ reason: "Rejected" as const, message: `${formatName(name)}: ${message}` })),
  ];
  const [first] = all;
  if (first !== undefined) {
    const message = all.map((each) => each.message).join("; ");
    return { type: "UpsyncReady", status: "False", severity: "Warning", reason: first.reason, message };
  }
  // Without an inventory it is unknown whether everything is upsynced.
  if (inventory === undefined) return undefined;
  return { type: "UpsyncReady", status: "True", reason: "Upsynced", message: "" };
}

function heldCondition({ heldMessage, missingDownstream }: Inventory, before: Condition | undefined): DecidedCondition {
  if (heldMessage !== undefined) {
    return { type: "UpsyncHeld", status: "True", severity: "Warning", reason: "DeletionsHeld", message: heldMessage };
  }
  // `tmc confirm` waits for this reason to end before it removes the confirmation: removed earlier, the rest would be held again.
  const isDeleting =
    missingDownstream.length > 0 && (before?.status === "True" || before?.reason === "DeletionsConfirmed");
  return {
    type: "UpsyncHeld",
    status: "False",
    reason: isDeleting ? "DeletionsConfirmed" : "NoDeletionsHeld",
    message: "",
  };
}

function conflictCondition(nameTaken: readonly string[]): DecidedCondition {
  if (nameTaken.length === 0) return { type: "UpsyncConflict", status: "False", reason: "NoConflict", message: "" };
  const message = `the workspace has another object with the same name: ${formatList(nameTaken.map(formatName))}`;
  return { type: "UpsyncConflict", status: "True", severity: "Warning", reason: "NameTaken", message };
}

function formatList(names: readonly string[]): string {
  const rest = names.length - maxListed;
  return names.slice(0, maxListed).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** Formats a key name as `deployments shop/web`. */
function formatName(name: string): string {
  const address = parseWorkloadKey({ name });
  return address === undefined ? name : `${address.type.plural} ${address.namespace}/${address.name}`;
}

function namespaceOf(name: string): string {
  return parseWorkloadKey({ name })?.namespace ?? name;
}
