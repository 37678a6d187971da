import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import { subdomainErrors } from "@tmc/kube/selector.ts";
import type { ObjectKey } from "../model/key.ts";

/** Clusters that one invocation probes. */
export type HeartbeatMessage = Readonly<{
  clusters: readonly Readonly<{ logicalCluster: string; name: string }>[];
  /** Delay with which it was sent; its lateness counts from the end of the delay. */
  delaySeconds: number;
}>;

/** Two rounds of concurrent probes, including unreachable clusters, fit into the timeout of a function. */
export const maxClustersPerMessage = 50;

export function formatHeartbeat({ clusters, delaySeconds }: HeartbeatMessage): string {
  return JSON.stringify({
    v: 1,
    clusters: clusters.map(({ logicalCluster, name }) => ({ logicalCluster, name })),
    delaySeconds,
  });
}

/** Parses a text of `formatHeartbeat`; throws a one-line error for anything else. */
export function parseHeartbeat(text: string): HeartbeatMessage {
  const body = parseJson(text);
  if (!isRecord(body) || body.v !== 1) throw unreadable("is not of version 1");
  const { clusters, delaySeconds = 0 } = body;
  if (!Array.isArray(clusters) || clusters.length > maxClustersPerMessage) {
    throw unreadable(`does not have a list of at most ${maxClustersPerMessage} clusters`);
  }
  if (typeof delaySeconds !== "number" || !(delaySeconds >= 0)) throw unreadable("has an invalid delay");
  return { clusters: clusters.map(parseCluster), delaySeconds };
}

export function registrationKeysOf({ clusters }: HeartbeatMessage): readonly ObjectKey[] {
  return clusters.map(({ logicalCluster, name }) => ({
    logicalCluster,
    kind: "ClusterRegistration",
    name,
  }));
}

function parseCluster(value: unknown): Readonly<{ logicalCluster: string; name: string }> {
  if (!isRecord(value)) throw unreadable("has a cluster that is not an object");
  const { logicalCluster, name } = value;
  if (typeof logicalCluster !== "string" || !/^[a-z0-9-]*$/.test(logicalCluster))
    throw unreadable("has a cluster without a logical cluster");
  if (typeof name !== "string" || subdomainErrors(name).length > 0) throw unreadable("has a cluster without a name");
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
