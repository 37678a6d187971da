import { AsyncLocalStorage } from "node:async_hooks";
import type { Fields, Log } from "../observe/log.ts";

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
