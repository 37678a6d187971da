import { callApi } from "../real/api-call.ts";
import type { AwsEndpoint } from "./endpoint.ts";

/** One run of a function. */
export type Invocation = Readonly<{
  function: string;
  startMs: number;
  endMs: number;
  /** When each message of its batch was sent. */
  sentMs: readonly number[];
  failed: boolean;
}>;

/** The gate before an emulator that was started here: it counts what passes and can refuse it. */
export interface Gate {
  /** How often each operation has been called so far: `AmazonSQS.SendMessageBatch`. */
  calls(): Promise<Readonly<Record<string, number>>>;
  /** The function runs that began after a moment and have ended, in the order in which they did. */
  invocations(sinceMs?: number): Promise<readonly Invocation[]>;
  /** Answers 503 to every operation that begins with one of these, and lets the others pass. */
  refuse(prefixes: readonly string[]): Promise<void>;
}

/** Every call of SQS; while it is refused no mapping delivers either. */
export const sqsCalls = "AmazonSQS.";

/** The gate of an endpoint that was started here; no other has one. */
export function createGate({ url, ca, own }: Pick<AwsEndpoint, "url" | "ca" | "own">): Gate {
  if (!own || ca === undefined) throw new Error(`gate: ${url} was not started here`);
  const ask = async (method: "GET" | "PUT", path: string, body?: object): Promise<unknown> => {
    const answer = await callApi({ url, ca }, method, `/_gate/${path}`, body);
    if (answer.status !== 200) throw new Error(`gate: ${method} ${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  };
  return {
    calls: async () => (await ask("GET", "calls")) as Record<string, number>, // our own launcher answers
    invocations: async (sinceMs = 0) => (await ask("GET", `invocations?since=${sinceMs}`)) as Invocation[],
    refuse: async (prefixes) => {
      await ask("PUT", "refused", prefixes);
    },
  };
}
