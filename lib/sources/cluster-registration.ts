import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { Reading } from "./cluster.ts";
import { originOf, type ReadingContext, renderedSecret, wayIn } from "./view.ts";

/** Reads one of our own registrations. Where it names no credentials the operator's template does, if there is one. */
export function readClusterRegistration(
  registration: ClusterRegistration,
  { cluster, template }: Pick<ReadingContext, "cluster" | "template">,
): Reading {
  const origin = originOf("clusterregistration", cluster, registration);
  const endpoint = registration.spec.endpoint?.server;
  if (registration.spec.credentials !== undefined || template === undefined) return { origin, registration, endpoint };
  const secret = renderedSecret(template, origin);
  if ("reason" in secret) return { origin, registration, endpoint, pending: secret };
  return {
    origin,
    endpoint,
    registration: { ...registration, spec: { ...registration.spec, ...wayIn(origin, { secret }) } },
  };
}
