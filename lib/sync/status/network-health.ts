import { applied, type Health, type HealthFacts, ready } from "./copy-health.ts";
import { listAt, objectAt, textAt } from "./json.ts";

const noAddress = "the cluster has given it no address";

/** A load balancer is ready when it has an address, any other service once it is there. */
export function serviceHealth({ spec, status }: HealthFacts): Health {
  if (textAt(spec, "type") !== "LoadBalancer" || hasAddress(status)) return ready();
  return applied("WaitingForAddress", noAddress);
}

/** Ready once it is there: many controllers never tell an address. */
export function ingressHealth({ status }: HealthFacts): Health {
  return hasAddress(status) ? ready() : ready({}, { reason: "WaitingForAddress", message: noAddress });
}

function hasAddress(status: HealthFacts["status"]): boolean {
  return listAt(objectAt(status, "loadBalancer"), "ingress").length > 0;
}
