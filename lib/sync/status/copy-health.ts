import type { JsonObject } from "@tmc/kube/kube-object.ts";
import { textAt } from "./json.ts";
import type { HealthReason } from "./reasons.ts";
import type { StatusCondition } from "./status-conditions.ts";
import { shortened } from "./words.ts";

/** How a copy is: there and as it should be, there and not yet, or given up by the cluster. */
export type Health = Readonly<{
  state: "Ready" | "Applied" | "Failed";
  desired?: number;
  ready?: number;
  reason?: HealthReason;
  message?: string;
}>;

/** What the rule of a type is given. */
export type HealthFacts = Readonly<{
  spec: JsonObject | undefined;
  status: JsonObject | undefined;
  annotations: Readonly<Record<string, string>>;
}>;

/** How many there are to be, and how many of them are ready. */
export type Counts = Readonly<Pick<Health, "desired" | "ready">>;

export function ready(counts: Counts = {}, why: Readonly<Pick<Health, "reason" | "message">> = {}): Health {
  return { state: "Ready", ...counts, ...why };
}

export function applied(reason: HealthReason, message: string, counts: Counts = {}): Health {
  return { state: "Applied", ...counts, reason, message: shortened(message) };
}

export function failed(reason: HealthReason, message: string, counts: Counts = {}): Health {
  return { state: "Failed", ...counts, reason, message: shortened(message) };
}

/** What holds nothing but data is ready once it is there. */
export const isThere = (): Health => ready();

/** A condition in the cluster's own words. */
export function wordsOf(condition: StatusCondition): string {
  const words = [textAt(condition, "reason"), textAt(condition, "message")].filter((text) => text !== undefined);
  const said = words.filter((text) => text !== "").join(": ");
  return said === "" ? `${condition.type} is ${condition.status}` : said;
}
