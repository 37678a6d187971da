import { App, Duration, RemovalPolicy, Stack } from "aws-cdk-lib";
import { Code, Function as LambdaFunction, Runtime } from "aws-cdk-lib/aws-lambda";
import { SqsEventSource } from "aws-cdk-lib/aws-lambda-event-sources";
import { LogGroup } from "aws-cdk-lib/aws-logs";
import { DeduplicationScope, FifoThroughputLimit, Queue } from "aws-cdk-lib/aws-sqs";

/** A function that does nothing behind a queue like the work queue: the least that an endpoint has to carry. */
const stack = new Stack(new App(), "Sample");
const removalPolicy = RemovalPolicy.DESTROY;
const fifo = {
  fifo: true,
  deduplicationScope: DeduplicationScope.MESSAGE_GROUP,
  fifoThroughputLimit: FifoThroughputLimit.PER_MESSAGE_GROUP_ID,
  removalPolicy,
};
const deadLetters = new Queue(stack, "DeadLetters", { ...fifo, queueName: "sample-dead-letters.fifo" });
const work = new Queue(stack, "Work", {
  ...fifo,
  queueName: "sample-work.fifo",
  visibilityTimeout: Duration.seconds(120),
  deadLetterQueue: { queue: deadLetters, maxReceiveCount: 5 },
});
const empty = new LambdaFunction(stack, "Empty", {
  functionName: "sample-empty",
  runtime: Runtime.NODEJS_24_X,
  code: Code.fromAsset(new URL("function", import.meta.url).pathname),
  handler: "index.handler",
  timeout: Duration.seconds(20),
  memorySize: 512,
  logGroup: new LogGroup(stack, "Log", { logGroupName: "/sample/empty", removalPolicy }),
});
empty.addEventSource(new SqsEventSource(work, { batchSize: 10, reportBatchItemFailures: true, maxConcurrency: 20 }));
