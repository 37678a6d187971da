import { afterAll, beforeAll } from "vitest";
import { createSqsQueueUnderTest } from "../../contract/sqs-queue-under-test.ts";
import { workQueueContract } from "../../contract/work-queue.ts";
import { fauxqs } from "../../contract/work-queue-differences.ts";
import { startSqs } from "../../support/sqs.ts";

let server: Awaited<ReturnType<typeof startSqs>>;
beforeAll(async () => {
  server = await startSqs();
});
afterAll(() => server.stop());

workQueueContract(fauxqs, () => createSqsQueueUnderTest(server.sqs));
