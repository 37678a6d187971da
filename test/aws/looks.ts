import { paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import { logGroupName } from "../../infra/names.ts";
import type { AwsClients } from "./aws-clients.ts";

/** A look at an object, as the line of a function tells of it. */
export type Look = Readonly<{ time: string; kind: string; name: string; reason: string; outcome: string }>;

/**
 * The looks of a stage that ended after a moment, in the order in which they did. Those that come by themselves and find nothing
 * are told of only by a stage that logs its steps.
 */
export async function readLooks(
  { logs }: Pick<AwsClients, "logs">,
  { stage, sinceMs }: Readonly<{ stage: string; sinceMs: number }>,
): Promise<readonly Look[]> {
  const where = { logGroupName: logGroupName(stage, "reconcile"), startTime: sinceMs };
  const looks: Look[] = [];
  for await (const { events = [] } of paginateFilterLogEvents({ client: logs }, where)) {
    looks.push(...events.flatMap(({ message = "" }) => lookOf(message) ?? []));
  }
  const since = new Date(sinceMs).toISOString();
  return looks.filter(({ time }) => time >= since).toSorted((one, other) => (one.time < other.time ? -1 : 1));
}

/** Undefined for a line that tells of something else. */
function lookOf(line: string): Look | undefined {
  if (!line.startsWith("{")) return undefined;
  const said = JSON.parse(line) as Partial<Look>; // a line of ours
  const { time, kind, name, reason, outcome } = said;
  return time && kind && name && reason && outcome ? { time, kind, name, reason, outcome } : undefined;
}
