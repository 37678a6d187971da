import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { UpsyncOrigin } from "../../lib/sync/ownership/upsync-origin.ts";
import type { Candidate, UpstreamState, UpsyncState } from "../../lib/upsync/decide.ts";

/** The origin of "web" on cluster "east", unless overridden. */
export function anOrigin(rest: Partial<UpsyncOrigin> = {}): UpsyncOrigin {
  return {
    logicalCluster: "2xk3tenant",
    registration: "east",
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace: "shop",
    name: "web",
    uid: "east-web",
    ...rest,
  };
}

/** The state of an object to upsync on its cluster. */
export function aPresentState({ uid = "east-web", hash = "p1", isDeleting = false } = {}): UpsyncState {
  return {
    kind: "present",
    copy: { uid, resourceVersion: "1", generation: 1, isDeleting, status: undefined },
    hash,
  };
}

export function aCandidate(
  registration: string,
  state: UpsyncState = aPresentState({ uid: `${registration}-web` }),
): Candidate {
  return { registration, state };
}

/** The upstream object that was upsynced from "east". */
export function anUpstreamState(rest: Partial<UpstreamState> = {}): UpstreamState {
  return { uid: "kcp-web", isDeleting: false, hash: "p1", origin: anOrigin(), ...rest };
}

/** A Deployment on a cluster. */
export function aDeployment(metadata: Partial<KubeObject["metadata"]> = {}, rest: object = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop", uid: "east-web", ...metadata },
    spec: { replicas: 2 },
    ...rest,
  };
}
