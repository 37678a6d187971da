import { paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import { logGroupName } from "../../infra/names.ts";
import type { AwsClients } from "./aws-clients.ts";

/** One reconcile, parsed from a log line of a function. */
export type ReconcileLine = Readonly<{ time: string; kind: string; name: string; reason: string; outcome: string }>;

/**
 * The reconciles of a stage that ended after a time, in order of their end. Reconciles of a resync that change nothing are logged
 * only at level debug.
 */
export async function readReconciles(
  { logs }: Pick<AwsClients, "logs">,
  { stage, sinceMs }: Readonly<{ stage: string; sinceMs: number }>,
): Promise<readonly ReconcileLine[]> {
  const where = { logGroupName: logGroupName(stage, "reconcile"), startTime: sinceMs };
  const reconciles: ReconcileLine[] = [];
  for await (const { events = [] } of paginateFilterLogEvents({ client: logs }, where)) {
    reconciles.push(...events.flatMap(({ message = "" }) => parseReconcile(message) ?? []));
  }
  const since = new Date(sinceMs).toISOString();
  return reconciles.filter(({ time }) => time >= since).toSorted((one, other) => (one.time < other.time ? -1 : 1));
}

/** Undefined for other log lines. */
function parseReconcile(line: string): ReconcileLine | undefined {
  if (!line.startsWith("{")) return undefined;
  const said = JSON.parse(line) as Partial<ReconcileLine>; // a line of ours
  const { time, kind, name, reason, outcome } = said;
  return time && kind && name && reason && outcome ? { time, kind, name, reason, outcome } : undefined;
}
