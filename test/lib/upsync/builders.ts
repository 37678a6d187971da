import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { UpsyncOrigin } from "../../../lib/sync/ownership/upsync-origin.ts";
import type { Claim, Upstream, UpsyncState } from "../../../lib/upsync/decide.ts";

/** Where "web" was born, unless something else is said. */
export function aBirthplace(rest: Partial<UpsyncOrigin> = {}): UpsyncOrigin {
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

/** What a cluster has that was born there. */
export function aBirth({ uid = "east-web", print = "p1", isDeleting = false } = {}): UpsyncState {
  return {
    kind: "born",
    copy: { uid, resourceVersion: "1", generation: 1, isDeleting, status: undefined },
    print,
  };
}

export function aClaim(registration: string, birth: UpsyncState = aBirth({ uid: `${registration}-web` })): Claim {
  return { registration, birth };
}

/** The object of the workspace, made of what was born on "east". */
export function anUpstream(rest: Partial<Upstream> = {}): Upstream {
  return { uid: "kcp-web", isDeleting: false, print: "p1", birthplace: aBirthplace(), ...rest };
}

/** A Deployment as a cluster has it. */
export function aDeployment(metadata: Partial<KubeObject["metadata"]> = {}, rest: object = {}): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "shop", uid: "east-web", ...metadata },
    spec: { replicas: 2 },
    ...rest,
  };
}
