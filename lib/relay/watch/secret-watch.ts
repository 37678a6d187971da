import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { compareStrings } from "@tmc/kube/compare.ts";
import { type Informer, startInformer } from "@tmc/kube/informer/informer.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { logicalClusterAnnotation } from "../../upstream/logical-cluster.ts";

const secretType: ResourceType = { group: "", version: "v1", plural: "secrets" };

/** The secret that a registration's credentials are in. */
export type CredentialsSecretRef = Readonly<{ namespace: string; name: string }>;
/** A registration and its logical cluster. */
export type Referrer = Readonly<{ logicalCluster: string; name: string }>;

/** Watches the secrets that registrations refer to, each in its own logical cluster. It reads metadata, never the data. */
export interface SecretWatch {
  /** Sets the secret that a registration refers to. The informer runs while any registration refers to a secret. */
  refer(registration: Referrer, reference: CredentialsSecretRef | undefined): void;
  /** Drops the references of all registrations of a logical cluster. */
  release(logicalCluster: string): void;
  /** The registrations of a logical cluster that refer to a secret. */
  referrers(logicalCluster: string): readonly string[];
  stop(): Promise<void>;
}

/** A secret watch that another informer of all secrets can feed. */
export type SecretTracker = SecretWatch &
  Readonly<{
    feed: Readonly<{
      listed(objects: readonly KubeObject[]): void;
      changed(object: KubeObject): void;
      deleted(object: KubeObject): void;
    }>;
  }>;

export type SecretWatchOptions = Readonly<{
  /** Below one logical cluster, or below all of them; undefined where `feed` is used and no informer is needed. */
  client: Pick<KubeClient, "metadata"> | undefined;
  /** The logical cluster of a secret. */
  clusterOf: (secret: KubeObject) => string;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Called with the registrations that refer to a secret that was created, changed or deleted. */
  onChanged(registrations: readonly Referrer[]): void;
  onFailure(error: unknown, retryInMs: number): void;
}>;

/** The version of a secret that does not exist. */
const absent = "absent";

/** Creates a watch without references. */
export function createSecretWatch(options: SecretWatchOptions): SecretTracker {
  const { client, clusterOf, clock, random, relistSeconds, onChanged, onFailure } = options;
  /** Secret by registration, registrations by secret, and the last version of each secret. */
  const references = new Map<string, Map<string, string>>();
  const referrersOf = new Map<string, Map<string, Referrer>>();
  const versions = new Map<string, string>();
  let informer: Informer | undefined;

  /**
   * The version to assume for a secret that was never listed. The informer's own list begins after the reference was
   * set, so its referrer has read the secret since. A list of another informer may be older than the reference: there,
   * the secret counts as absent, and its appearance as a change.
   */
  const unlisted = client === undefined ? absent : undefined;

  const idOf = (object: KubeObject): string =>
    secretId(clusterOf(object), { namespace: object.metadata.namespace ?? "", name: object.metadata.name ?? "" });

  const notify = (secrets: readonly string[]): void => {
    const affected = secrets.flatMap((secret) => [...(referrersOf.get(secret)?.values() ?? [])]);
    if (affected.length > 0) onChanged(affected.toSorted((one, other) => compareStrings(one.name, other.name)));
  };

  const applyList = (objects: readonly KubeObject[]): void => {
    const listed = new Map(objects.map((object) => [idOf(object), versionOf(object)]));
    const changed: string[] = [];
    for (const secret of referrersOf.keys()) {
      const [last, now] = [versions.get(secret) ?? unlisted, listed.get(secret) ?? absent];
      if (last !== undefined && last !== now) changed.push(secret);
      versions.set(secret, now);
    }
    notify(changed);
  };
  const apply = (object: KubeObject, version: string): void => {
    const secret = idOf(object);
    if (versions.get(secret) === version) return;
    if (referrersOf.has(secret)) versions.set(secret, version);
    else versions.delete(secret);
    notify([secret]);
  };
  const feed: SecretTracker["feed"] = {
    listed: applyList,
    changed: (object) => apply(object, versionOf(object)),
    deleted: (object) => apply(object, absent),
  };

  const start = (): void => {
    if (client === undefined) return;
    informer = startInformer(
      { client: client.metadata, type: secretType, transform: nameAndVersion, clock, random, relistSeconds },
      { ...feed, failed: ({ error, retryInMs }) => onFailure(error, retryInMs) },
    );
  };
  const stop = async (): Promise<void> => {
    const stopping = informer;
    informer = undefined;
    versions.clear();
    await stopping?.stop();
  };
  const unlink = (secret: string, { logicalCluster, name }: Referrer): void => {
    referrersOf.get(secret)?.delete(`${logicalCluster}/${name}`);
    if (referrersOf.get(secret)?.size === 0) {
      referrersOf.delete(secret);
      versions.delete(secret);
    }
  };

  const refer = (registration: Referrer, reference: CredentialsSecretRef | undefined): void => {
    const { logicalCluster, name } = registration;
    const secret = reference === undefined ? undefined : secretId(logicalCluster, reference);
    const own = references.get(logicalCluster);
    const before = own?.get(name);
    if (before === secret) return;
    if (before !== undefined) unlink(before, registration);
    if (secret === undefined) {
      own?.delete(name);
      if (own?.size === 0) references.delete(logicalCluster);
    } else {
      references.set(logicalCluster, (own ?? new Map<string, string>()).set(name, secret));
      const referrers = referrersOf.get(secret) ?? new Map<string, Referrer>();
      referrersOf.set(secret, referrers.set(`${logicalCluster}/${name}`, registration));
    }
    if (references.size === 0) void stop();
    else if (informer === undefined) start();
  };

  return {
    refer,
    release: (logicalCluster) => {
      for (const name of [...(references.get(logicalCluster)?.keys() ?? [])]) {
        refer({ logicalCluster, name }, undefined);
      }
    },
    referrers: (logicalCluster) => [...(references.get(logicalCluster)?.keys() ?? [])],
    feed,
    stop,
  };
}

const secretId = (logicalCluster: string, { namespace, name }: CredentialsSecretRef): string =>
  `${logicalCluster}/${namespace}/${name}`;

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? "";
}

/** Keeps name, version and logical cluster: all tenants together may have very many secrets. */
function nameAndVersion({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, resourceVersion, annotations } = metadata;
  const logicalCluster = annotations?.[logicalClusterAnnotation];
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(logicalCluster === undefined ? {} : { annotations: { [logicalClusterAnnotation]: logicalCluster } }),
    },
  };
}
