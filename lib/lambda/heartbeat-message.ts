import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json-record.ts";
import { subdomainProblems } from "@tmc/kube/selector.ts";
import type { ObjectKey } from "../model/key.ts";

/** Clusters that are to be probed together. */
export type HeartbeatMessage = Readonly<{
  clusters: readonly Readonly<{ logicalCluster: string; name: string }>[];
  /** How long the queue was told to hold it: its age counts from then. */
  delaySeconds: number;
}>;

/** As many clusters as one message has at most: two rounds of probes, dead ones included, in the time of a function. */
export const mostClusters = 50;

/** A message as text. */
export function formatHeartbeat({ clusters, delaySeconds }: HeartbeatMessage): string {
  return JSON.stringify({
    v: 1,
    clusters: clusters.map(({ logicalCluster, name }) => ({ logicalCluster, name })),
    delaySeconds,
  });
}

/** Reads what `formatHeartbeat` wrote; refuses anything else in one line that says why. */
export function parseHeartbeat(text: string): HeartbeatMessage {
  const body = parseJson(text);
  if (!isRecord(body) || body.v !== 1) throw unreadable("is not of version 1");
  const { clusters, delaySeconds = 0 } = body;
  if (!Array.isArray(clusters) || clusters.length > mostClusters) {
    throw unreadable(`does not have a list of at most ${mostClusters} clusters`);
  }
  if (typeof delaySeconds !== "number" || !(delaySeconds >= 0)) throw unreadable("has a delay that is no time");
  return { clusters: clusters.map(parseCluster), delaySeconds };
}

/** The keys of those clusters. */
export function keysOf({ clusters }: HeartbeatMessage): readonly ObjectKey[] {
  return clusters.map(({ logicalCluster, name }) => ({
    logicalCluster: logicalCluster,
    kind: "ClusterRegistration",
    name,
  }));
}

function parseCluster(value: unknown): Readonly<{ logicalCluster: string; name: string }> {
  if (!isRecord(value)) throw unreadable("has a cluster that is none");
  const { logicalCluster, name } = value;
  if (typeof logicalCluster !== "string" || !/^[a-z0-9-]*$/.test(logicalCluster))
    throw unreadable("has no logical cluster");
  if (typeof name !== "string" || subdomainProblems(name).length > 0) throw unreadable("has a cluster without a name");
  return { logicalCluster, name };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw unreadable("is not JSON");
  }
}

function unreadable(why: string): ControllerError {
  return new ControllerError("invalid", `heartbeat message: ${why}`);
}
