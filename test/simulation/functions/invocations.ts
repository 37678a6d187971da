import type { Clock } from "@tmc/kube/clock.ts";
import type { Context, SQSBatchResponse, SQSEvent } from "aws-lambda";
import type { FunctionHandler } from "../../../lib/lambda/function.ts";
import { causes } from "../cause.ts";
import type { SimulationEnvironment } from "../environment.ts";
import { createLife, type ProcessLife } from "../process-life.ts";
import type { Seeded } from "../seeded.ts";
import type { QueueName, Queues, Received } from "./queues.ts";

/** What the code of a function gets from the process that it runs in. */
export type FunctionProcess = Readonly<{
  life: ProcessLife;
  /** The clock of the process: while no invocation runs, the process is frozen, and its timers wait. */
  clock: Clock;
  /** Resolves while an invocation runs. */
  awake: () => Promise<void>;
}>;

export type FunctionSpec = Readonly<{
  name: string;
  timeoutMs: number;
  /** Creates the handler of a new process. */
  load: (process: FunctionProcess) => FunctionHandler<never, unknown>;
}>;

/** A queue whose messages invoke a function. */
export type EventSource = Readonly<{
  queue: QueueName;
  batchSize: number;
  maxConcurrency: number;
  /** Whether the response names the messages that failed. */
  reportsFailures: boolean;
}>;

/** The Lambda service of a run. */
export interface Invocations {
  /** Invokes a function; throws if it fails, times out, or its process dies. */
  invoke(spec: FunctionSpec, event: unknown): Promise<unknown>;
  connect(spec: FunctionSpec, source: EventSource): void;
  /** Ends some of the processes, idle or not. */
  killSome(share: number): void;
  /** Ends the processes that are idle. */
  retire(): void;
  /** The difference of the clock of each new process. */
  setSkew(skewMs: number): void;
  /** Ends all processes whose clocks are wrong. */
  endSkewed(): void;
  readonly writes: number;
}

type Running = FunctionProcess & {
  readonly spec: FunctionSpec;
  readonly handler: FunctionHandler<never, unknown>;
  isBusy: boolean;
  /** Ends the invocation in progress. */
  fail: (error: Error) => void;
  thaw: () => void;
  freeze: () => void;
};

/** The share of invocations that get a process of an earlier one, where there is one. */
const warmShare = 0.7;
/** Idle processes of a function; Lambda ends the others. */
const mostIdle = 4;

/** Creates the Lambda service: a process has one invocation at a time, is frozen in between, and may or may not be used again. */
export function createInvocations(
  world: SimulationEnvironment,
  {
    queues,
    clock,
    dice,
    deathAt,
  }: Readonly<{ queues: Queues; clock: Clock; dice: Seeded; deathAt: () => "before" | "after" | undefined }>,
): Invocations {
  const processes = new Set<Running>();
  let started = 0;
  let requests = 0;
  let skewMs = 0;
  let deadWrites = 0;
  const pumps = new Map<QueueName, () => void>();
  queues.onMessage((queue) => pumps.get(queue)?.());

  const startProcess = (spec: FunctionSpec): Running => {
    started += 1;
    const life = createLife({
      world,
      name: `${spec.name}-${started}`,
      skewMs,
      deathAt,
      onExit: () => {
        processes.delete(running);
        deadWrites += life.writes;
        running.fail(new Error(`${life.name} has died`));
      },
    });
    const freezer = createFreezer(life.clock);
    const running: Running = {
      spec,
      life,
      ...freezer,
      handler: causes.run({ process: life }, () => spec.load({ life, clock: freezer.clock, awake: freezer.awake })),
      isBusy: false,
      fail: () => {},
    };
    processes.add(running);
    return running;
  };
  const processFor = (spec: FunctionSpec): Running => {
    const idle = [...processes].filter((each) => each.spec === spec && !each.isBusy);
    for (const each of idle.slice(mostIdle)) each.life.kill();
    return idle.length > 0 && dice.chance(warmShare) ? dice.pick(idle.slice(0, mostIdle)) : startProcess(spec);
  };

  const invoke = async (spec: FunctionSpec, event: unknown): Promise<unknown> => {
    const process = processFor(spec);
    const { life } = process;
    requests += 1;
    const endMs = clock.monotonicMs() + spec.timeoutMs;
    process.isBusy = true;
    const cancel = clock.after(spec.timeoutMs, () => {
      world.log(`${life.name} times out`);
      life.kill();
    });
    try {
      return await new Promise<unknown>((resolve, reject) => {
        process.fail = reject;
        process.thaw();
        const context = contextOf(`request-${requests}`, () => endMs - clock.monotonicMs());
        // Each function gets the events that its source creates.
        causes.run({ process: life }, () => void process.handler(event as never, context).then(resolve, reject));
      });
    } finally {
      cancel();
      process.freeze();
      process.fail = () => {};
      process.isBusy = false;
    }
  };

  const connect = (spec: FunctionSpec, { queue, batchSize, maxConcurrency, reportsFailures }: EventSource): void => {
    let running = 0;
    let cancel: (() => void) | undefined;
    let atMs = Infinity;

    const consume = async (messages: readonly Received[]): Promise<void> => {
      const { refuse } = world.weather.queue;
      // A throttled batch was received, and is delivered again after the visibility timeout.
      if (refuse > 0 && dice.chance(refuse)) return;
      world.log(`${spec.name} gets ${messages.length} of ${queue}`);
      const response = await invoke(spec, eventOf(messages));
      const failed = reportsFailures ? failuresIn(response) : new Set<string>();
      queues.remove(
        queue,
        messages.filter(({ id }) => !failed.has(id)).map(({ receipt }) => receipt),
      );
    };
    const pump = (): void => {
      cancel = undefined;
      atMs = Infinity;
      while (running < maxConcurrency) {
        const messages = queues.receive(queue, batchSize);
        if (messages.length === 0) break;
        running += 1;
        consume(messages)
          .catch((error: unknown) => world.log(`${spec.name} fails: ${error instanceof Error ? error.message : error}`))
          .finally(() => {
            running -= 1;
            pumpAt(clock.monotonicMs());
          });
      }
      const nextMs = queues.nextVisibleMs(queue);
      if (running < maxConcurrency && nextMs !== undefined && nextMs > clock.now()) pumpAt(nextMs);
    };
    /** Polls at a moment, or a little later: a message is received some milliseconds after it was sent. */
    const pumpAt = (ms: number): void => {
      if (ms >= atMs) return;
      cancel?.();
      atMs = ms;
      cancel = clock.after(Math.max(0, ms - clock.now()) + dice.between(2, 30), pump);
    };
    pumps.set(queue, () => pumpAt(clock.now()));
  };

  return {
    invoke,
    connect,
    killSome: (share) => {
      for (const { life } of [...processes]) if (dice.chance(share)) life.kill();
    },
    retire: () => {
      for (const { life, isBusy } of [...processes]) if (!isBusy) life.kill();
    },
    setSkew: (ms) => {
      skewMs = ms;
    },
    endSkewed: () => {
      for (const { life } of [...processes]) if (life.skewMs !== 0) life.kill();
    },
    get writes() {
      return deadWrites + [...processes].reduce((sum, { life }) => sum + life.writes, 0);
    },
  };
}

/** A clock whose tasks wait while the process is frozen. */
function createFreezer(base: Clock) {
  let isFrozen = true;
  const waiting = new Set<() => void>();
  const clock: Clock = {
    now: base.now,
    monotonicMs: base.monotonicMs,
    after: (delayMs, task) => {
      let run: (() => void) | undefined;
      const cancel = base.after(delayMs, () => {
        if (!isFrozen) {
          task();
          return;
        }
        const cause = causes.getStore();
        run = () => (cause === undefined ? task() : causes.run(cause, task));
        waiting.add(run);
      });
      return () => {
        cancel();
        if (run !== undefined) waiting.delete(run);
      };
    },
  };
  return {
    clock,
    awake: (): Promise<void> => (isFrozen ? new Promise((resolve) => void waiting.add(resolve)) : Promise.resolve()),
    freeze: (): void => {
      isFrozen = true;
    },
    thaw: (): void => {
      isFrozen = false;
      const due = [...waiting];
      waiting.clear();
      for (const run of due) run();
    },
  };
}

function failuresIn(response: unknown): ReadonlySet<string> {
  // Only handlers that report failures are connected with an event source that reads them.
  const { batchItemFailures } = response as SQSBatchResponse;
  return new Set(batchItemFailures.map(({ itemIdentifier }) => itemIdentifier));
}

/** The event that Lambda creates for messages. */
function eventOf(messages: readonly Received[]): SQSEvent {
  return {
    Records: messages.map(({ id, body, groupId, sentMs, receives, receipt }) => ({
      messageId: id,
      receiptHandle: receipt,
      body,
      attributes: {
        ApproximateReceiveCount: String(receives),
        SentTimestamp: String(sentMs),
        SenderId: "",
        ApproximateFirstReceiveTimestamp: String(sentMs),
        ...(groupId !== undefined && { MessageGroupId: groupId }),
      },
      messageAttributes: {},
      md5OfBody: "",
      eventSource: "aws:sqs",
      eventSourceARN: "arn:aws:sqs:eu-west-1:000000000000:queue",
      awsRegion: "eu-west-1",
    })),
  };
}

function contextOf(awsRequestId: string, remainingMs: () => number): Context {
  return {
    awsRequestId,
    functionName: "tmc",
    functionVersion: "1",
    invokedFunctionArn: "",
    memoryLimitInMB: "512",
    logGroupName: "",
    logStreamName: "",
    callbackWaitsForEmptyEventLoop: false,
    getRemainingTimeInMillis: () => Math.max(0, remainingMs()),
    done: () => {},
    fail: () => {},
    succeed: () => {},
  };
}
