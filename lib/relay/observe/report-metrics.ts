import type { Clock } from "@tmc/kube/clock.ts";
import type { CallAws } from "../../credentials/aws-call.ts";
import { type AwsCredentials, awsDomain } from "../../credentials/aws-sign.ts";
import type { Log } from "../../observe/log.ts";
import { formatRelayMetrics, type RelayMetricValues, relayMetrics, relayMetricValues } from "./cloudwatch-metrics.ts";

/** Sends the values of one minute to CloudWatch. */
export type SendRelayMetrics = (values: RelayMetricValues) => Promise<void>;

/** Alarms evaluate periods of a minute. */
const intervalMs = 60_000;

/** Reports the relay's metrics every minute until the returned function is called. A failed report is logged; its alarm takes missing data as a breach. */
export function startMetricsReport(
  { clock, log }: Readonly<{ clock: Clock; log: Log }>,
  send: SendRelayMetrics,
  read: () => RelayMetricValues,
): () => void {
  const report = (): void => {
    cancel = clock.after(intervalMs, report);
    send(read()).catch((error: unknown) => log.warn("metrics not reported", { error }));
  };
  let cancel = clock.after(intervalMs, report);
  return () => cancel();
}

/** Writes the metrics as a log line, for a relay whose log CloudWatch reads. */
export const logRelayMetrics =
  (write: (line: string) => void): SendRelayMetrics =>
  async (values) =>
    write(`${formatRelayMetrics(values)}\n`);

/** Sends the metrics with PutMetricData, for a relay that runs outside of ECS. */
export function putRelayMetrics({
  callAws,
  credentials,
  region,
}: Readonly<{ callAws: CallAws; credentials: AwsCredentials; region: string }>): SendRelayMetrics {
  return async (values) => {
    const query: Record<string, string> = {
      Action: "PutMetricData",
      Version: "2010-08-01",
      Namespace: relayMetrics.namespace,
    };
    for (const [at, [name, value]] of Object.entries(relayMetricValues(values)).entries()) {
      const member = `MetricData.member.${at + 1}`;
      query[`${member}.MetricName`] = name;
      query[`${member}.Value`] = String(value);
      query[`${member}.Unit`] = "Seconds";
      query[`${member}.Dimensions.member.1.Name`] = relayMetrics.dimension;
      query[`${member}.Dimensions.member.1.Value`] = values.stage;
    }
    const identity = await credentials();
    const request = { method: "GET", hostname: `monitoring.${region}.${awsDomain(region)}`, path: "/", query } as const;
    await callAws(request, { identity, service: "monitoring", region });
  };
}
