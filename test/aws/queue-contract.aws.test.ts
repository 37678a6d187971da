import { SQSClient } from "@aws-sdk/client-sqs";
import { afterAll, beforeAll } from "vitest";
import { createSqsQueueUnderTest } from "../contract/sqs-queue-under-test.ts";
import { workQueueContract } from "../contract/work-queue.ts";
import { endpoint } from "../contract/work-queue-differences.ts";

let sqs: SQSClient;
beforeAll(() => {
  if ((process.env.AWS_ENDPOINT_URL ?? "") === "")
    throw new Error("AWS_ENDPOINT_URL is not set: it says which SQS the contract is held against");
  sqs = new SQSClient({}); // all that it needs is in the environment
});
afterAll(() => sqs.destroy());

workQueueContract(endpoint, () => createSqsQueueUnderTest(sqs));
