import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { compareStrings } from "@tmc/kube/compare.ts";
import { keepRunning } from "@tmc/kube/keep-running.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import { pageByPage } from "@tmc/kube/paged-list.ts";
import { watchForever } from "@tmc/kube/watch.ts";
import { clusterAnnotation } from "../upstream/logical-cluster.ts";
import type { Follower } from "./follow.ts";

const secretType: ResourceType = { group: "", version: "v1", plural: "secrets" };

/** Which secret a registration's credentials are in. */
export type SecretReference = Readonly<{ namespace: string; name: string }>;
/** A registration and the logical cluster it is in. */
export type Referrer = Readonly<{ logicalCluster: string; name: string }>;

/** Watches the secrets that registrations refer to, each in its own logical cluster: their metadata, never what is in them. */
export interface SecretWatch {
  /** Says what a registration refers to now; undefined for nothing. A watch runs for as long as anyone refers to anything. */
  refer(registration: Referrer, reference: SecretReference | undefined): void;
  /** Lets go of all that the registrations of a logical cluster refer to. */
  release(logicalCluster: string): void;
  /** The registrations of a logical cluster that refer to any. */
  referrers(logicalCluster: string): readonly string[];
  stop(): Promise<void>;
}

/** A watch of secrets that can be told what another watch of all secrets sees. */
export type FedSecretWatch = SecretWatch & Readonly<{ feed: Pick<Follower, "listed" | "changed" | "deleted"> }>;

export type SecretWatchOptions = Readonly<{
  /** Below one logical cluster, or below all of them; undefined where it is fed and needs no watch of its own. */
  client: Pick<KubeClient, "metadata"> | undefined;
  /** Whose a secret is. */
  clusterOf: (secret: KubeObject) => string;
  clock: Clock;
  random: () => number;
  relistSeconds: number;
  /** Told which registrations refer to a secret that came, changed or went. */
  onChanged(registrations: readonly Referrer[]): void;
  onTrouble(error: unknown, retryInMs: number): void;
}>;

/** A secret that was looked for and not found. */
const absent = "absent";

/** Creates a watch that does not run yet. */
export function createSecretWatch(options: SecretWatchOptions): FedSecretWatch {
  const { client, clusterOf, clock, random, relistSeconds, onChanged, onTrouble } = options;
  /** What each registration refers to, by logical cluster and name; who refers to each secret; how that was last seen. */
  const references = new Map<string, Map<string, string>>();
  const referrersOf = new Map<string, Map<string, Referrer>>();
  const versions = new Map<string, string>();
  let running: Readonly<{ end: AbortController; done: Promise<void> }> | undefined;

  /** What counts as the last word on a secret that was never looked for. */
  const unlooked = client === undefined ? absent : undefined;

  const idOf = (object: KubeObject): string =>
    secretId(clusterOf(object), { namespace: object.metadata.namespace ?? "", name: object.metadata.name ?? "" });

  const tell = (secrets: readonly string[]): void => {
    const concerned = secrets.flatMap((secret) => [...(referrersOf.get(secret)?.values() ?? [])]);
    if (concerned.length > 0) onChanged(concerned.toSorted((one, other) => compareStrings(one.name, other.name)));
  };

  const seeAll = (objects: readonly KubeObject[]): void => {
    const listed = new Map(objects.map((object) => [idOf(object), versionOf(object)]));
    const changed: string[] = [];
    for (const secret of referrersOf.keys()) {
      // Whoever refers to one that was never looked for has read it since. Where somebody else's watch tells us, that list was
      // not begun for its sake: the one who read may have come before the secret, and this list after it.
      const [last, now] = [versions.get(secret) ?? unlooked, listed.get(secret) ?? absent];
      if (last !== undefined && last !== now) changed.push(secret);
      versions.set(secret, now);
    }
    tell(changed);
  };

  const see = (object: KubeObject, version: string): void => {
    const secret = idOf(object);
    if (versions.get(secret) === version) return;
    if (referrersOf.has(secret)) versions.set(secret, version);
    else versions.delete(secret);
    tell([secret]);
  };

  const watch = async (secrets: Pick<KubeClient, "metadata">, signal: AbortSignal): Promise<void> => {
    const slimmed = pageByPage(secrets.metadata, nameAndVersion);
    const watched = watchForever(slimmed, { type: secretType }, { signal, clock, random, relistSeconds });
    for await (const event of watched) {
      if (event.type === "listed") seeAll(event.objects);
      else if (event.type === "changed") see(event.object, versionOf(event.object));
      else if (event.type === "deleted") see(event.object, absent);
      else if (event.type === "trouble") onTrouble(event.error, event.retryInMs);
    }
  };

  const stop = async (): Promise<void> => {
    const ending = running;
    running = undefined;
    versions.clear();
    ending?.end.abort();
    await ending?.done;
  };
  const run = (): void => {
    if (client === undefined) return;
    const end = new AbortController();
    const loop = () => watch(client, end.signal);
    running = { end, done: keepRunning(loop, { clock, signal: end.signal, onFailure: onTrouble }) };
  };
  const unlink = (secret: string, { logicalCluster, name }: Referrer): void => {
    referrersOf.get(secret)?.delete(`${logicalCluster}/${name}`);
    if (referrersOf.get(secret)?.size === 0) {
      referrersOf.delete(secret);
      versions.delete(secret);
    }
  };

  const refer = (registration: Referrer, reference: SecretReference | undefined): void => {
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
    else if (running === undefined) run();
  };

  return {
    refer,
    release: (logicalCluster) => {
      for (const name of [...(references.get(logicalCluster)?.keys() ?? [])])
        refer({ logicalCluster, name }, undefined);
    },
    referrers: (logicalCluster) => [...(references.get(logicalCluster)?.keys() ?? [])],
    feed: {
      listed: seeAll,
      changed: (object) => see(object, versionOf(object)),
      deleted: (object) => see(object, absent),
    },
    stop,
  };
}

const secretId = (logicalCluster: string, { namespace, name }: SecretReference): string =>
  `${logicalCluster}/${namespace}/${name}`;

function versionOf({ metadata }: KubeObject): string {
  return metadata.resourceVersion ?? "";
}

/** All that is looked at, and whose it is: the secrets of every tenant may be many. */
function nameAndVersion({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, resourceVersion, annotations } = metadata;
  const logicalCluster = annotations?.[clusterAnnotation];
  return {
    apiVersion,
    kind,
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(logicalCluster === undefined ? {} : { annotations: { [clusterAnnotation]: logicalCluster } }),
    },
  };
}
