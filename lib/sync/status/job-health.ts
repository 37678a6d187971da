import { applied, failed, type Health, type HealthFacts, ready, wordsOf } from "./copy-health.ts";
import { fieldAt, numberAt, textAt } from "./json.ts";
import { conditionOf } from "./status-conditions.ts";

/** A job that runs is as good as one that is ready: nobody has to wait for its end to move on. */
export function jobHealth({ spec, status }: HealthFacts): Health {
  const counts = { ...completions(spec), ready: numberAt(status, "succeeded") ?? 0 };
  for (const type of ["Failed", "FailureTarget"]) {
    const failure = conditionOf(status, type);
    if (failure?.status === "True") return failed("GaveUp", wordsOf(failure), counts);
  }
  if (conditionOf(status, "Complete")?.status === "True") return ready(counts, { reason: "Complete" });
  if (fieldAt(spec, "suspend") === true) return ready(counts, { reason: "Suspended" });
  const suspended = conditionOf(status, "Suspended");
  if (suspended?.status === "True") return applied("Suspended", wordsOf(suspended), counts);
  if (textAt(status, "startTime") === undefined) return applied("Starting", "the job has not started", counts);
  return ready(counts, { reason: "Running" });
}

/** A schedule is ready once it is there; what its jobs come to is no matter of its health. */
export function cronJobHealth({ spec }: HealthFacts): Health {
  return fieldAt(spec, "suspend") === true ? ready({}, { reason: "Suspended" }) : ready();
}

/** How many pods have to succeed; nobody knows where they share out the work among themselves. */
function completions(spec: HealthFacts["spec"]): Readonly<{ desired?: number }> {
  const said = numberAt(spec, "completions");
  if (said !== undefined) return { desired: said };
  return numberAt(spec, "parallelism") === undefined ? { desired: 1 } : {};
}
