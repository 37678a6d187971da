import { createHash } from "node:crypto";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import type { ObjectKey } from "../model/key.ts";
import { type ClusterFacts, clusterFacts } from "../placement/observed.ts";
import type { SourceKind } from "./source-kinds.ts";
import { originOf, type ReadingContext, renderedSecret, wayIn } from "./view.ts";

/** The object that a cluster was read from. */
export type Origin = Readonly<{
  /** The logical cluster it is in; empty on a plain Kubernetes hub. */
  cluster: string;
  source: SourceKind;
  /** Empty where the kind is cluster-scoped. */
  namespace: string;
  name: string;
  uid: string;
  /** When it was created, in milliseconds since the epoch; 0 where nobody says. */
  createdMs: number;
}>;

/** Why there is no way into a cluster yet: kplane's words where it has one. */
export type PendingReason =
  | "ControlPlaneRefMissing"
  | "ControlPlaneNotFound"
  | "EndpointPending"
  | "KubeconfigPending"
  | "EndpointInvalid"
  | "ServiceUnknown";
export type Pending = Readonly<{ reason: PendingReason; message: string }>;

/** What a control plane can be registered for. */
export const services = ["Controllers", "Scheduler", "Workloads"] as const;
export type Service = (typeof services)[number];

/** What a source makes of one object. */
export type Reading = Readonly<{
  origin: Origin;
  /** The cluster as its owner would have registered it; the object itself where it is a registration. Never written anywhere. */
  registration: ClusterRegistration;
  /** The address of its API server, where the object leads to one. */
  endpoint?: string | undefined;
  /** Undefined when everything that leads into the cluster is named. */
  pending?: Pending | undefined;
  /** Undefined for everything. */
  services?: readonly Service[] | undefined;
  /** When the facts change next by time alone, in milliseconds since the epoch. */
  changesAtMs?: number | undefined;
}>;

/** A cluster, whatever kind of object made it known. */
export type Cluster = Reading &
  Readonly<{
    /** The name that the rest of TMC knows it by; unique in its logical cluster. */
    key: ObjectKey;
    /** The origin in one text. */
    id: string;
    facts: ClusterFacts;
    /** The same as long as the way into it is named the same; it gives no secret away. */
    digest: string;
  }>;

/** Completes a reading. */
export function asCluster(reading: Reading): Cluster {
  const { origin, registration, pending } = reading;
  return {
    ...reading,
    key: { logicalCluster: origin.cluster, kind: "ClusterRegistration", name: origin.name },
    id: formatOrigin(origin),
    facts: withoutWayIn(clusterFacts(registration), pending),
    digest: digestOf(reading),
  };
}

/** The cluster with what TMC itself has seen of it in place of what its object says. */
export function asObserved(cluster: Cluster, status: NonNullable<ClusterRegistration["status"]>): Cluster {
  return asCluster({ ...cluster, registration: { ...cluster.registration, status }, changesAtMs: undefined });
}

/** `1k2x…|synctarget/east`, or with its namespace `|controlplaneendpoint/team-a/east`: one text for one object. */
export function formatOrigin({ cluster, source, namespace, name }: Omit<Origin, "uid" | "createdMs">): string {
  return `${cluster}|${source}/${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/**
 * Nothing is placed on a cluster that cannot be got into, whatever others say of it. Since when stays
 * open: an endpoint that was there a moment ago is no long outage, and whoever tolerates it counts from when it is first seen.
 */
function withoutWayIn(facts: ClusterFacts, pending: Pending | undefined): ClusterFacts {
  if (pending === undefined || facts.ready !== "True") return facts;
  return { ...facts, ready: "Unknown", readyReason: pending.reason };
}

function digestOf({ origin, registration, endpoint, pending }: Reading): string {
  const { credentials, endpoint: named } = registration.spec;
  return createHash("sha256")
    .update(JSON.stringify([formatOrigin(origin), origin.uid, endpoint, named, credentials, pending?.reason]))
    .digest("hex")
    .slice(0, 16);
}

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
