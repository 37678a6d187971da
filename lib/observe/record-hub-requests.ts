import type { CountedRequest } from "@tmc/kube/counted-client.ts";
import type { Metrics } from "./metrics.ts";

/** Records requests to the hub. */
export function hubRequestRecorder(metrics: Pick<Metrics, "add" | "observe">): (request: CountedRequest) => void {
  return ({ verb, code, seconds }) => {
    metrics.add("tmc_hub_requests_total", { verb, code });
    if (verb !== "watch") metrics.observe("tmc_hub_request_duration_seconds", { verb }, seconds);
  };
}
