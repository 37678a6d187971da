import { AsyncLocalStorage } from "node:async_hooks";
import middy, { type MiddlewareObj } from "@middy/core";
import { createDeadline } from "@tmc/kube/deadline.ts";
import type { Context, SQSBatchResponse } from "aws-lambda";
import { type Environment, type EnvironmentName, readEnvironment } from "../engine/environment.ts";
import { createLog, type Log, type LogFields, parseLogLevel } from "../observe/log.ts";
import { readableCause } from "../queue/retry-policy.ts";
import { createEmfMetrics, type EmfMetrics } from "./emf-metrics.ts";
import type { Host } from "./host.ts";

/** What every function gets. */
export type FunctionTools = Readonly<{ host: Host; log: Log; metrics: EmfMetrics }>;

export type FunctionDefinition<Name extends EnvironmentName, State, Event, Response> = Readonly<{
  name: string;
  /** The settings that it reads from the environment, besides the stage and the log level. */
  environmentNames: readonly Name[];
  /** Creates the state of the process. If it fails, the invocation fails and the next one tries again. */
  start: (tools: FunctionTools & Readonly<{ environment: Pick<Environment, Name | "stage"> }>) => Promise<State>;
  /** Handles one invocation. The signal aborts early enough to still respond. */
  handle: (state: State, event: Event, signal: AbortSignal) => Promise<Response>;
}>;

export type FunctionHandler<Event, Response> = (event: Event, context: Context) => Promise<Response>;

/** Time before the timeout to send outstanding messages and respond. */
const responseMarginMs = 2_000;

/** Creates a Lambda handler that reads its environment, starts once per process, and adds logs, metrics and error handling. */
export function createFunction<Name extends EnvironmentName, State, Event, Response>(
  host: Host,
  { name, environmentNames, start, handle }: FunctionDefinition<Name, State, Event, Response>,
): FunctionHandler<Event, Response> {
  const importMs = Math.round(host.uptimeMs());
  const { variables, write, clock, version } = host;
  const stage = variables.TMC_STAGE ?? "";
  const level = parseLogLevel(variables.TMC_LOG_LEVEL ?? "") ?? 2;
  const { log, runWith } = createInvocationLog(createLog({ level, write, clock }));
  const metrics = createEmfMetrics({ stage, write });

  const state = lazy(async (): Promise<State> => {
    const startedMs = host.uptimeMs();
    const environment = readEnvironment(variables, ["stage", "logLevel", ...environmentNames]);
    const made = await start({ host, log, metrics, environment });
    // Once per process; a failed start is logged as a failed invocation.
    log.info("function started", { version, importMs, initMs: Math.round(host.uptimeMs() - startedMs) });
    return made;
  });
  const handler = middy<Event, Response>({
    // No early response: the handler itself responds, because only it knows which messages are unfinished.
    timeoutEarlyInMillis: 0,
  })
    .use(flushMetrics(metrics))
    .use(logFailure(log))
    .handler(async (event: Event, context: Context) => {
      const timeoutMs = Math.max(0, context.getRemainingTimeInMillis() - responseMarginMs);
      const deadline = createDeadline(clock, { signal: undefined, timeoutMs });
      try {
        return await handle(await state(), event, deadline.signal);
      } finally {
        deadline.end();
      }
    });
  return (event, context) =>
    runWith({ requestId: context.awsRequestId, function: name, stage }, async () => handler(event, context));
}

function flushMetrics({ flush }: EmfMetrics): MiddlewareObj {
  return { after: () => flush(), onError: () => flush() };
}

/**
 * Logs why an invocation failed, and throws a plain one-line error. The Lambda runtime prints errors with all their
 * properties, and TMC's errors carry whole server responses.
 */
function logFailure(log: Log): MiddlewareObj {
  return {
    onError: (request) => {
      log.error("invocation failed", { error: request.error });
      const plain = new Error(readableCause(request.error));
      plain.stack = `${plain.name}: ${plain.message}`;
      request.error = plain;
    },
  };
}

/** Creates a value at the first call and caches it. A failure is not cached: the next call tries again. */
export function lazy<T>(make: () => Promise<T>): () => Promise<T> {
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

/** A log for objects that live longer than one invocation. */
export type InvocationLog = Readonly<{
  /** Adds the fields of the current invocation to each line. */
  log: Log;
  /** Runs `work` as part of an invocation with these fields. */
  runWith<T>(fields: LogFields, work: () => Promise<T>): Promise<T>;
}>;

/**
 * Creates a log that adds the fields of the current invocation at any call depth. Clients and reconcilers are created once,
 * and a process may serve several invocations concurrently.
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
    isEnabled: (severity) => base.isEnabled(severity),
    child: (fields) => now().child(fields),
  };
  return { log, runWith: (fields, work) => current.run(base.child(fields), work) };
}

/** The messages to deliver again, as Lambda's partial batch response. */
export function batchResponse({ failed }: Readonly<{ failed: readonly string[] }>): SQSBatchResponse {
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
