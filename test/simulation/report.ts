import type { Step } from "./scenario.ts";
import type { Result } from "./simulate.ts";

const longestMessage = 2_000;
const mostViolations = 3;

/** Says what is wrong with a seed, what was done in it, and how to see it again. */
export function formatFailure({ seed, scenario, violations, digest }: Result): string {
  const [first, ...others] = violations;
  const featureFlag = scenario.features.length === 0 ? "" : ` --features ${scenario.features.join(",")}`;
  const modeFlag = scenario.mode === "direct" ? "" : ` --mode ${scenario.mode}`;
  const lines = [
    `seed ${seed}: ${first === undefined ? "all laws hold" : formatViolation(first)}`,
    ...others.slice(0, mostViolations - 1).map((violation) => `  also ${formatViolation(violation)}`),
    ...(violations.length > mostViolations ? [`  and ${violations.length - mostViolations} more`] : []),
    `  replay: npm run simulate -- --seed ${seed}${featureFlag}${modeFlag} --verbose (${digest})`,
    `  ending: ${scenario.ending}, ${JSON.stringify(scenario.finalStates)}, ${JSON.stringify(scenario.settings)}`,
    "  steps:",
    ...scenario.steps.map((step) => `    ${formatStep(step)}`),
  ];
  return lines.join("\n");
}

/** One step in one line: when, and what. */
export function formatStep(step: Step): string {
  const { kind, ...rest } = "input" in step ? step.input : step.fault;
  const sort = "input" in step ? "input" : "fault";
  return `${(step.atMs / 1000).toFixed(3).padStart(8)} ${sort} ${kind} ${JSON.stringify(rest)}`;
}

function formatViolation({ law, atMs, message }: Result["violations"][number]): string {
  const text = message.length > longestMessage ? `${message.slice(0, longestMessage)}…` : message;
  return `law ${law} is broken at ${(atMs / 1000).toFixed(3)} s: ${text}`;
}
