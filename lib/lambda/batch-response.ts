import type { SQSBatchResponse } from "aws-lambda";

/** The messages that are to be handed out again, in the words of Lambda. */
export function failuresOf({ failed }: Readonly<{ failed: readonly string[] }>): SQSBatchResponse {
  return { batchItemFailures: failed.map((itemIdentifier) => ({ itemIdentifier })) };
}
