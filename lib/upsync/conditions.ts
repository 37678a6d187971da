import { byKey } from "@tmc/kube/compare.ts";
import { type Condition, type DecidedCondition, withCondition } from "../model/condition.ts";
import { parseWorkloadKey } from "../model/key.ts";
import type { Inventory } from "./inventory.ts";
import type { OptInBlocker } from "./opt-in.ts";

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

/** Reasons in the upsync conditions of a registration, with their explanation for docs/reasons.md. */
export const upsyncReasons = {
  Upsynced: "All opted-in objects of the cluster are in the workspace.",
  TypeNotOffered: "TMC does not offer a type in `spec.upsync`, so it cannot write the type in the workspace.",
  TypeNotServed: "The cluster does not serve a type in `spec.upsync`. Upsync continues when the cluster serves it.",
  ListForbidden: "The cluster does not let TMC list a type in `spec.upsync`. The message is the cluster's error.",
  NamespaceMissing:
    "The workspace does not have the namespace of an object. TMC cannot create namespaces there; upsync continues when a user has created it.",
  Rejected: "The workspace's API server rejects an object. The message is its error.",
  NameTaken:
    "The workspace has another object with the same name, created there or upsynced from another cluster. TMC overwrites nothing.",
  NoConflict: "No name is in conflict any more.",
  DeletionsHeld:
    "Many objects disappeared from the cluster at once, or all of them without a deletion that TMC observed, or many copies on other clusters would be deleted with them. TMC keeps the objects in the workspace until a user confirms.",
  DeletionsConfirmed: "A user confirmed the held deletions, and TMC is deleting the objects.",
  NoDeletionsHeld: "No deletions are held any more.",
} as const;
export type UpsyncReason = keyof typeof upsyncReasons;
