import type { KubeClient } from "@tmc/kube/client.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";

/** One of the four servers that the contract is held against. */
export interface ServerUnderTest {
  readonly kind: "kcp" | "cluster";
  /** Where it is, with all rights; no path. */
  readonly endpoint: Endpoint;
  /** A client at the server's root, with all rights. */
  readonly admin: KubeClient;
  /** A client as somebody else at the server's root; the caller closes it. */
  clientAs(who: Partial<Endpoint>): KubeClient;
  /** Has so much of the server's time pass at once; for a real server there is nothing but to wait. */
  skip?(ms: number): void;
  stop(): Promise<void>;
}

/** Where one case works: a workspace of the run (kcp) or the cluster, and a namespace of its own. */
export type Room = Readonly<{
  server: ServerUnderTest;
  /** All rights, below the workspace's path. */
  client: KubeClient;
  /** `/clusters/<name>` on kcp, empty on a cluster. */
  path: string;
  namespace: string;
  /** A client below the same path as somebody else. */
  clientAs: (who: Partial<Endpoint>) => KubeClient;
}>;

/** Gives each case its room; the namespace is new. */
export type MakeRoom = () => Promise<Room>;
