import { execFile } from "node:child_process";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";

/** The etcd of a server: its only member, where it stores, and how a client reaches it. */
export type Etcd = Readonly<{
  /** The name of the member. */
  name: string;
  clientUrl: string;
  peerUrl: string;
  /** Below it, the folder `member` has all data of etcd. */
  dataDir: string;
  /** PEM files for clients; undefined for an etcd without TLS. */
  tls?: Readonly<{ ca: string; certificate: string; key: string }> | undefined;
}>;

/** Saves a snapshot of a running etcd, like `etcdctl snapshot save`. */
export async function saveSnapshot(kubeall: string, { clientUrl, tls }: Etcd, file: string): Promise<void> {
  const files = tls === undefined ? [] : [`--cacert=${tls.ca}`, `--cert=${tls.certificate}`, `--key=${tls.key}`];
  await promisify(execFile)(kubeall, ["etcd-snapshot", `--endpoint=${clientUrl}`, ...files, file]);
}

/**
 * Replaces the data of a stopped etcd by a snapshot, with `etcdutl snapshot restore`. With a bumped revision, no revision is
 * used twice, and watches from before the restore end with 410: that is how the documentation of etcd says to restore the
 * etcd of Kubernetes. Objects keep the versions that they had in the snapshot.
 */
export async function restoreSnapshot(
  kubeall: string,
  { name, peerUrl, dataDir }: Pick<Etcd, "name" | "peerUrl" | "dataDir">,
  { file, bumpRevision = 0 }: Readonly<{ file: string; bumpRevision?: number }>,
): Promise<void> {
  const restored = await mkdtemp(join(dirname(dataDir), "restored-"));
  try {
    await promisify(execFile)(kubeall, [
      ...["etcdutl", "snapshot", "restore", file],
      `--data-dir=${restored}`,
      `--name=${name}`,
      `--initial-cluster=${name}=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      ...(bumpRevision === 0 ? [] : [`--bump-revision=${bumpRevision}`, "--mark-compacted"]),
    ]);
    await rm(join(dataDir, "member"), { recursive: true, force: true });
    await rename(join(restored, "member"), join(dataDir, "member"));
  } finally {
    await rm(restored, { recursive: true, force: true });
  }
}
