import { type CredentialSource, type CredentialsOutcome, notConfigured } from "../credentials/credentials.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import { asCluster, type Cluster, type Reading, readClusterRegistration } from "./cluster.ts";

import { isForeign } from "./foreign-object.ts";
import type { SecretTemplate } from "./secret-template.ts";

export type SourcedCredentialsOptions = Readonly<{
  credentials: CredentialSource;
  /** The operator's rule for clusters that name no credentials. */
  template: SecretTemplate | undefined;
  /** What makes a cluster of another kind known. @default there are none */
  readingOf?: ((key: ObjectKey) => Reading | undefined) | undefined;
}>;

/** Finds the way into clusters of every source where their objects, or the operator's template, say that it is. */
export function createSourcedCredentials(options: SourcedCredentialsOptions): CredentialSource {
  const { credentials, template, readingOf = () => undefined } = options;
  const access = createClusterAccess(credentials);
  return {
    find: ({ key, registration }, signal) => {
      const foreign = isForeign(registration) ? readingOf(key) : undefined;
      const reading = foreign ?? readClusterRegistration(registration, { cluster: key.logicalCluster, template });
      return access.find(asCluster(reading), signal);
    },
    forget: access.forget,
  };
}

/** The way into clusters of every source. */
export interface ClusterAccess {
  /** What is wrong with the credentials is an answer; only a source of them that cannot be asked just now throws. */
  find(cluster: Cluster, signal: AbortSignal): Promise<CredentialsOutcome>;
  /** Lets go of what is remembered: the cluster has gone, its secret has changed, or it refused what it held. */
  forget(key: ObjectKey): void;
}

/** Creates the way in over the sources of credentials that registrations have. */
export function createClusterAccess(credentials: CredentialSource): ClusterAccess {
  const digests = new Map<string, string>();
  return {
    find: async (cluster, signal) => {
      const { key, registration, digest, pending } = cluster;
      const id = formatKey(key);
      const before = digests.get(id);
      if (before !== undefined && before !== digest) credentials.forget(key);
      digests.set(id, digest);
      if (pending !== undefined) return notConfigured(`${pending.reason}: ${pending.message}`);
      return credentials.find({ key, registration: versioned(cluster, registration) }, signal);
    },
    forget: (key) => {
      digests.delete(formatKey(key));
      credentials.forget(key);
    },
  };
}

/**
 * Sources of credentials remember by generation. What leads into a cluster can change without one, as when a control plane's
 * status names another secret, and another object may take the name over: so the digest takes the generation's place.
 */
function versioned({ digest }: Cluster, registration: Cluster["registration"]): Cluster["registration"] {
  const generation = Number.parseInt(digest.slice(0, 12), 16);
  return { ...registration, metadata: { ...registration.metadata, generation } };
}
