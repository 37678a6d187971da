import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { type EmbeddedCluster, startEmbeddedCluster } from "@tmc/embedded/kubernetes/embedded-cluster.ts";
import type { EmbeddedServer } from "@tmc/embedded/server/embedded-server.ts";
import type { Faults } from "@tmc/embedded/server/faults.ts";
import { type Backup, bumpedRevisions, type ClusterPart, type Part, type RestorableParts } from "./environment.ts";

type Embedded = Pick<EmbeddedServer, "url" | "ca" | "faults"> & Readonly<{ adminToken: string }>;

/** Parts whose kcp can be made to answer what is not so. */
export type EmbeddedParts = RestorableParts & Readonly<{ kcpFaults: Faults }>;

/** Starts a kcp and clusters in this process; over the wire they behave like separate processes. */
export async function startEmbeddedParts(): Promise<EmbeddedParts> {
  const [kcp, east, west] = await Promise.all([
    startEmbeddedKcp(),
    startEmbeddedCluster({ name: "us-east" }),
    startEmbeddedCluster({ name: "us-west" }),
  ]);
  const restorable = (bumpRevision: number) => ({
    kcp: backupOf(kcp, bumpRevision),
    "us-east": backupOf(east, bumpRevision),
    "us-west": backupOf(west, bumpRevision),
  });
  return {
    backups: restorable(0),
    snapshots: restorable(bumpedRevisions),
    kcp: partOf(kcp),
    kcpFaults: kcp.faults,
    clusters: { "us-east": clusterPart(east), "us-west": clusterPart(west) },
    stop: async () => {
      await Promise.all([kcp, east, west].map((server) => server.stop()));
    },
  };
}

function clusterPart(cluster: EmbeddedCluster): ClusterPart {
  return {
    ...partOf(cluster),
    loseStore: async () => cluster.makeBroken(),
    regainStore: async () => cluster.recover(),
  };
}

function backupOf(server: Pick<EmbeddedServer, "snapshot" | "restore">, bumpRevision: number): Backup {
  let taken: ReturnType<EmbeddedServer["snapshot"]> | undefined;
  return {
    take: async () => {
      taken = server.snapshot();
    },
    restore: async () => {
      if (taken === undefined) throw new Error("no backup was taken");
      server.restore(taken, { bumpRevision });
    },
  };
}

/** A server in memory dies with this process: being cut off from everybody is the nearest to death that it survives. */
function partOf({ url, ca, adminToken, faults }: Embedded): Part {
  return {
    endpoint: { server: url, ca, token: async () => adminToken },
    token: adminToken,
    kill: async () => {
      faults.inject({ effect: { kind: "partition", requests: "refuse" } });
      faults.cutWatches();
    },
    revive: async () => faults.clear(),
    freeze: () => void faults.inject({ effect: { kind: "partition", requests: "hang" } }),
    thaw: () => faults.clear(),
  };
}
