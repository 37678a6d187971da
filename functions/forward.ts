// Takes messages whose wait is over from the delay queue to the work queue.

import { SQSClient } from "@aws-sdk/client-sqs";
import { createForward } from "../lib/lambda/forward.ts";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";

import { tmcVersion } from "../lib/model/version.ts";

export const handler = createForward(machineHost(tmcVersion()), { sqs: new SQSClient({ requestHandler }) });
