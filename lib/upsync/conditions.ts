import { byKey } from "@tmc/kube/compare.ts";
import { type Condition, type DecidedCondition, withCondition } from "../model/condition.ts";
import { workloadAddress } from "../model/key.ts";
import type { Inventory } from "./inventory.ts";
import type { Problem } from "./opt-in.ts";
import type { UpsyncReason } from "./reasons.ts";

/** The conditions of a registration that are upsync's. */
export const upsyncConditions = ["UpsyncReady", "UpsyncConflict", "UpsyncHeld"] as const;

export type ConditionFacts = Readonly<{
  before: readonly Condition[];
  /** Whether anything is asked for. */
  isAsked: boolean;
  problems: readonly Problem[];
  /** Undefined while the cluster is not heard from: what was said of it stays. */
  survey: Inventory | undefined;
  /** What the workspace refuses, in its words, by the names of keys. */
  refused: ReadonlyMap<string, string>;
  now: string;
}>;

/** As many names as a message bears. */
const mostShown = 5;

/** Says what came of what a registration asks for; the list itself is given back when nothing differs. */
export function decideConditions(facts: ConditionFacts): readonly Condition[] {
  const { before, isAsked, problems, survey, refused, now } = facts;
  const isOurs = ({ type }: Condition): boolean => upsyncConditions.some((each) => each === type);
  if (!isAsked) return before.some(isOurs) ? before.filter((each) => !isOurs(each)) : before;
  const wanted: DecidedCondition[] = [];
  const ready = readiness(problems, survey, refused);
  if (ready !== undefined) wanted.push(ready);
  if (survey !== undefined) {
    const has = (name: string): boolean => before.some(({ type }) => type === name);
    const { taken, held } = survey;
    const holding = before.find(({ type }) => type === "UpsyncHeld");
    if (taken.length > 0 || has("UpsyncConflict")) wanted.push(conflict(taken));
    if (held !== undefined || holding !== undefined) wanted.push(hold(survey, holding));
  }
  return wanted.reduce((conditions, each) => withCondition(conditions, each, now), before);
}

/** Whether conditions say this of any object. */
export function isSaid(conditions: readonly Condition[] | undefined, reason: UpsyncReason): boolean {
  return conditions?.some((each) => each.reason === reason) === true;
}

function readiness(
  problems: readonly Problem[],
  survey: Inventory | undefined,
  refused: ReadonlyMap<string, string>,
): DecidedCondition | undefined {
  const missing = [...new Set((survey?.homeless ?? []).map(namespaceIn))];
  const all: readonly Problem[] = [
    ...problems,
    ...(missing.length === 0
      ? []
      : [{ reason: "NamespaceMissing" as const, message: `the workspace has no namespace ${listed(missing)}` }]),
    ...[...refused]
      .toSorted(byKey)
      .slice(0, mostShown)
      .map(([name, words]) => ({ reason: "Rejected" as const, message: `${readable(name)}: ${words}` })),
  ];
  const [first] = all;
  if (first !== undefined) {
    const message = all.map((each) => each.message).join("; ");
    return { type: "UpsyncReady", status: "False", severity: "Warning", reason: first.reason, message };
  }
  // Not heard from: nobody knows.
  if (survey === undefined) return undefined;
  return { type: "UpsyncReady", status: "True", reason: "Upsynced", message: "" };
}

function hold({ held, vanished }: Inventory, before: Condition | undefined): DecidedCondition {
  if (held !== undefined) {
    return { type: "UpsyncHeld", status: "True", severity: "Warning", reason: "DeletionsHeld", message: held };
  }
  // Whoever has confirmed it takes that back when all of it has gone, and not before.
  const isGoing = vanished.length > 0 && (before?.status === "True" || before?.reason === "DeletionsConfirmed");
  return {
    type: "UpsyncHeld",
    status: "False",
    reason: isGoing ? "DeletionsConfirmed" : "NoDeletionsHeld",
    message: "",
  };
}

function conflict(taken: readonly string[]): DecidedCondition {
  if (taken.length === 0) return { type: "UpsyncConflict", status: "False", reason: "NoConflict", message: "" };
  const message = `the workspace has another object of the name: ${listed(taken.map(readable))}`;
  return { type: "UpsyncConflict", status: "True", severity: "Warning", reason: "NameTaken", message };
}

function listed(names: readonly string[]): string {
  const rest = names.length - mostShown;
  return names.slice(0, mostShown).join(", ") + (rest > 0 ? ` and ${rest} more` : "");
}

/** `deployments shop/web` */
function readable(name: string): string {
  const address = workloadAddress({ name });
  return address === undefined ? name : `${address.type.plural} ${address.namespace}/${address.name}`;
}

function namespaceIn(name: string): string {
  return workloadAddress({ name })?.namespace ?? name;
}
