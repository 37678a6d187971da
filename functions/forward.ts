// Forwards due messages from the delay queue to the work queue.

import { SQSClient } from "@aws-sdk/client-sqs";
import { createForwardFunction } from "../lib/lambda/forward.ts";
import { machineHost, requestHandler } from "../lib/lambda/host.ts";
import { tmcVersion } from "../lib/model/version.ts";

export const handler = createForwardFunction(machineHost(tmcVersion()), { sqs: new SQSClient({ requestHandler }) });
