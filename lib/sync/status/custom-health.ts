import { applied, type Counts, failed, type Health, type HealthFacts, ready, wordsOf } from "./copy-health.ts";
import { numberAt, textAt } from "./json.ts";
import { overallConditions } from "./reached.ts";
import { conditionOf } from "./status-conditions.ts";

const badPhases: ReadonlySet<string> = new Set(["failed", "failure", "error", "errored", "lost", "invalid"]);
/** Beside everything that ends in -ing, which is under way; only what is running or serving has arrived. */
const earlyPhases: ReadonlySet<string> = new Set(["new", "notready", "inprogress", "queued", "unknown", "degraded"]);
const arrived: ReadonlySet<string> = new Set(["running", "serving", "listening", "working"]);

/**
 * Tells how a copy of any other type is, by what most controllers hold to: the conditions Stalled, Failed, Reconciling, Ready,
 * Available, Healthy, then `phase` or `state`, then counted replicas. What says nothing of this is ready once it is there.
 */
export function customHealth({ spec, status }: HealthFacts): Health {
  const counts = replicaCounts(spec, status);
  for (const type of ["Stalled", "Failed"]) {
    const condition = conditionOf(status, type);
    if (condition?.status === "True") return failed("GaveUp", wordsOf(condition), counts);
  }
  const reconciling = conditionOf(status, "Reconciling");
  if (reconciling?.status === "True") return applied("NotReady", wordsOf(reconciling), counts);
  for (const type of overallConditions) {
    const condition = conditionOf(status, type);
    if (condition === undefined) continue;
    return condition.status === "True" ? ready(counts) : applied("NotReady", wordsOf(condition), counts);
  }
  const phase = textAt(status, "phase") ?? textAt(status, "state");
  if (phase !== undefined) return phaseHealth(phase, counts);
  const { desired, ready: there } = counts;
  const isShort = desired !== undefined && there !== undefined && there < desired;
  return isShort ? applied("NotReady", "not all replicas are ready", counts) : ready(counts);
}

function phaseHealth(phase: string, counts: Counts): Health {
  const word = phase.toLowerCase().replaceAll(/[^a-z]/g, "");
  const words = `it is ${phase}`;
  if (badPhases.has(word)) return failed("GaveUp", words, counts);
  const isEarly = earlyPhases.has(word) || (word.endsWith("ing") && !arrived.has(word));
  return isEarly ? applied("NotReady", words, counts) : ready(counts);
}

function replicaCounts(spec: HealthFacts["spec"], status: HealthFacts["status"]): Counts {
  const desired = numberAt(spec, "replicas");
  const there = numberAt(status, "readyReplicas");
  return { ...(desired === undefined ? {} : { desired }), ...(there === undefined ? {} : { ready: there }) };
}
