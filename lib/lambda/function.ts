import { AsyncLocalStorage } from "node:async_hooks";
import middy, { type MiddlewareObj } from "@middy/core";
import type { Context, SQSBatchResponse } from "aws-lambda";
import { type Environment, type EnvironmentName, readEnvironment } from "../engine/environment.ts";
import { createLog, type Fields, type Log, parseLogLevel } from "../observe/log.ts";
import { readableCause } from "../queue/retry-policy.ts";
import { createEmfMetrics, type EmfMetrics } from "./emf-metrics.ts";
import type { Host } from "./host.ts";

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

/**
 * Makes something when it is first asked for and keeps it for as long as the process lives. A failure is not kept: whoever
 * asks next has it made again.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    if (made !== undefined) return made;
    const making = make();
    made = making;
    making.catch(() => {
      if (made === making) made = undefined;
    });
    return making;
  };
}

/** A log for parts that live longer than one invocation. */
export type InvocationLog = Readonly<{
  /** Puts on each line the fields of the invocation that it is written in. */
  log: Log;
  /** Does something as part of an invocation. */
  within<T>(fields: Fields, work: () => Promise<T>): Promise<T>;
}>;

/**
 * Creates a log that knows in which invocation a line is written, however deep below it: clients and reconcilers are made once,
 * and a process may serve several invocations at a time.
 */
export function createInvocationLog(base: Log): InvocationLog {
  const current = new AsyncLocalStorage<Log>();
  const now = (): Log => current.getStore() ?? base;
  const log: Log = {
    error: (message, fields) => now().error(message, fields),
    warn: (message, fields) => now().warn(message, fields),
    info: (message, fields) => now().info(message, fields),
    debug: (message, fields) => now().debug(message, fields),
    trace: (message, fields) => now().trace(message, fields),
    writes: (severity) => base.writes(severity),
    child: (fields) => now().child(fields),
  };
  return { log, within: (fields, work) => current.run(base.child(fields), work) };
}

/** The messages that are to be handed out again, in the words of Lambda. */
export function failuresOf({ failed }: Readonly<{ failed: readonly string[] }>): SQSBatchResponse {
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
