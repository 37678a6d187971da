import { DescribeLogGroupsCommand, paginateFilterLogEvents } from "@aws-sdk/client-cloudwatch-logs";
import type { AwsClients } from "./aws-clients.ts";

/** Every line that the functions of a stage have logged. */
export async function readStageLogs({ logs }: Pick<AwsClients, "logs">, stage: string): Promise<string> {
  const { logGroups = [] } = await logs.send(new DescribeLogGroupsCommand({ logGroupNamePrefix: `/tmc/${stage}/` }));
  const lines: string[] = [];
  for (const { logGroupName = "" } of logGroups) {
    for await (const { events = [] } of paginateFilterLogEvents({ client: logs }, { logGroupName })) {
      lines.push(...events.map(({ message = "" }) => message));
    }
  }
  return lines.join("\n");
}
