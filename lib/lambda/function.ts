import middy, { type MiddlewareObj } from "@middy/core";
import type { Context } from "aws-lambda";
import { type Environment, type EnvironmentName, readEnvironment } from "../engine/environment.ts";
import { createLog, type Log, parseLogLevel } from "../observe/log.ts";
import { readableCause } from "../queue/retry-policy.ts";
import { createEmfMetrics, type EmfMetrics } from "./emf-metrics.ts";
import type { Host } from "./host.ts";
import { createInvocationLog } from "./invocation-log.ts";
import { once } from "./once.ts";

/** What every function gets, besides its own parts. */
export type Tools = Readonly<{ host: Host; log: Log; metrics: EmfMetrics }>;

export type FunctionDefinition<Name extends EnvironmentName, Parts, Event, Answer> = Readonly<{
  name: string;
  /** What it reads of the environment; the stage is read by all. */
  reads: readonly Name[];
  /** Makes what lives as long as the process. When it fails the invocation fails, and the next one tries again. */
  start: (tools: Tools & Readonly<{ environment: Pick<Environment, Name | "stage"> }>) => Promise<Parts>;
  /** Answers one invocation; the signal leaves time enough to still answer. */
  handle: (parts: Parts, event: Event, signal: AbortSignal) => Promise<Answer>;
}>;

/** A function as the runtime calls it. */
export type FunctionHandler<Event, Answer> = (event: Event, context: Context) => Promise<Answer>;

/** To send what is left to send, answer, and have the answer taken. */
const timeToAnswerMs = 2_000;

/**
 * Creates a function: reads its environment, makes its parts once, and puts around each invocation what all have in common.
 */
export function createFunction<Name extends EnvironmentName, Parts, Event, Answer>(
  host: Host,
  { name, reads, start, handle }: FunctionDefinition<Name, Parts, Event, Answer>,
): FunctionHandler<Event, Answer> {
  const importMs = Math.round(host.uptimeMs());
  const { variables, write, clock, version } = host;
  const stage = variables.TMC_STAGE ?? "";
  const level = parseLogLevel(variables.TMC_LOG_LEVEL ?? "") ?? 2;
  const { log, within } = createInvocationLog(createLog({ level, write, clock }));
  const metrics = createEmfMetrics({ stage, write });

  const parts = once(async (): Promise<Parts> => {
    const beganMs = host.uptimeMs();
    const environment = readEnvironment(variables, ["stage", "logLevel", ...reads]);
    const made = await start({ host, log, metrics, environment });
    // Once for each process: a failed start is said as what it is, and tried again.
    log.info("function started", { version, importMs, initMs: Math.round(host.uptimeMs() - beganMs) });
    return made;
  });
  const chain = middy<Event, Answer>({
    timeoutEarlyInMillis: timeToAnswerMs,
    // Only the signal is wanted: what is left undone then is known to the handler alone, and it is the one to say so.
    timeoutEarlyResponse: () => new Promise(() => {}),
  })
    .use(metricsWritten(metrics))
    .use(failureInOneLine(log))
    .handler(async (event: Event, _context: Context, { signal }: { signal: AbortSignal }) =>
      handle(await parts(), event, signal),
    );
  return (event, context) =>
    within({ requestId: context.awsRequestId, function: name, stage }, async () => chain(event, context));
}

/** Writes the metrics of an invocation at its end, however it ends. */
function metricsWritten({ flush }: EmfMetrics): MiddlewareObj {
  return { after: () => flush(), onError: () => flush() };
}

/**
 * Says why an invocation failed. What the runtime gets to see, and prints once more, is a plain error in one line: ours carry
 * whole answers of servers.
 */
function failureInOneLine(log: Log): MiddlewareObj {
  return {
    onError: (request) => {
      log.error("invocation failed", { error: request.error });
      const plain = new Error(readableCause(request.error));
      plain.stack = `${plain.name}: ${plain.message}`;
      request.error = plain;
    },
  };
}
