import { CreateQueueCommand, DeleteQueueCommand, GetQueueAttributesCommand, SQSClient } from "@aws-sdk/client-sqs";
import { startFauxqs } from "fauxqs";
import { maxSqsReceives } from "../../lib/queue/retry-policy.ts";
import type { QueueUrls, SqsClient } from "../../lib/queue/sqs-client.ts";

/** A client for a local endpoint, with the credentials that emulators accept. */
export function openSqs(endpoint: string): SQSClient {
  return new SQSClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
  });
}

/** Starts an SQS in this process. */
export async function startSqs(): Promise<Readonly<{ sqs: SQSClient; endpoint: string; stop: () => Promise<void> }>> {
  const server = await startFauxqs({ port: 0, logger: false });
  const endpoint = `http://127.0.0.1:${server.port}`;
  const sqs = openSqs(endpoint);
  return {
    sqs,
    endpoint,
    stop: async () => {
      sqs.destroy();
      await server.stop();
    },
  };
}

let made = 0;

/** Creates the three queues as they are deployed, with unique names. */
export async function createQueues(
  sqs: SqsClient,
  {
    visibilitySeconds = 30,
    maxReceives = maxSqsReceives,
  }: Readonly<{ visibilitySeconds?: number; maxReceives?: number }> = {},
): Promise<Readonly<{ urls: QueueUrls; remove: () => Promise<void> }>> {
  made += 1;
  const stage = `tmc-t${process.pid}-${Date.now().toString(36)}-${made}`;
  const fifo = {
    FifoQueue: "true",
    DeduplicationScope: "messageGroup",
    FifoThroughputLimit: "perMessageGroupId",
  };
  const create = async (name: string, Attributes: Record<string, string>): Promise<string> => {
    const { QueueUrl = "" } = await sqs.send(new CreateQueueCommand({ QueueName: `${stage}-${name}`, Attributes }));
    return QueueUrl;
  };
  const deadLetters = await create("dead-letters.fifo", fifo);
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: deadLetters, AttributeNames: ["QueueArn"] }),
  );
  const work = await create("work.fifo", {
    ...fifo,
    VisibilityTimeout: String(visibilitySeconds),
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: Attributes?.QueueArn, maxReceiveCount: maxReceives }),
  });
  const delay = await create("delay", { VisibilityTimeout: String(visibilitySeconds) });
  return {
    urls: { work, delay, deadLetters },
    remove: async () => {
      for (const QueueUrl of [work, delay, deadLetters]) await sqs.send(new DeleteQueueCommand({ QueueUrl }));
    },
  };
}

/** A call of the client. */
export type SqsCall = Readonly<{
  name: string;
  input: Readonly<Record<string, unknown>>;
  /** Aborts the call. */
  signal: AbortSignal | undefined;
}>;

/**
 * Wraps a client: the test sees every call, and responds itself or forwards the call with `pass`.
 */
export function interceptSqs(
  sqs: SqsClient,
  answer: (call: SqsCall, pass: () => Promise<unknown>) => Promise<unknown>,
): SqsClient {
  const send = (
    command: { input: Record<string, unknown> },
    options?: { abortSignal?: AbortSignal },
  ): Promise<unknown> => {
    const name = command.constructor.name.replace(/Command$/, "");
    const call = { name, input: command.input, signal: options?.abortSignal };
    return answer(call, () => Reflect.apply(sqs.send, sqs, [command, options]));
  };
  // The client's type has an overload for each call; all of them have this form.
  return { send } as unknown as SqsClient;
}
