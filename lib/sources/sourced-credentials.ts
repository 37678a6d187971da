import { type CredentialSource, type CredentialsOutcome, notConfigured } from "../credentials/credentials.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import { type ClusterView, readClusterRegistration, type SourceCluster, toSourceCluster } from "./cluster.ts";

import { isExternal } from "./external-object.ts";
import type { SecretTemplate } from "./secret-template.ts";

export type SourcedCredentialsOptions = Readonly<{
  credentials: CredentialSource;
  /** The operator's secret template for clusters that name no credentials. */
  template: SecretTemplate | undefined;
  /** Returns the view of a cluster of another source. @default none */
  viewOf?: ((key: ObjectKey) => ClusterView | undefined) | undefined;
}>;

/** Creates a credential source for the clusters of all sources. */
export function createSourcedCredentials(options: SourcedCredentialsOptions): CredentialSource {
  const { credentials, template, viewOf = () => undefined } = options;
  const access = createSourceAccess(credentials);
  return {
    find: ({ key, registration }, signal) => {
      const externalView = isExternal(registration) ? viewOf(key) : undefined;
      const view =
        externalView ?? readClusterRegistration(registration, { logicalCluster: key.logicalCluster, template });
      return access.find(toSourceCluster(view), signal);
    },
    invalidate: access.invalidate,
  };
}

/** Finds the credentials of clusters of all sources. */
export interface SourceAccess {
  /** Missing or invalid credentials are a result; throws only if the credential source cannot be reached. */
  find(cluster: SourceCluster, signal: AbortSignal): Promise<CredentialsOutcome>;
  /** Drops cached credentials: the cluster was deleted, its secret changed, or the cluster rejected them. */
  invalidate(key: ObjectKey): void;
}

/** Creates SourceAccess on top of the credential source for registrations. */
export function createSourceAccess(credentials: CredentialSource): SourceAccess {
  const accessHashes = new Map<string, string>();
  return {
    find: async (cluster, signal) => {
      const { key, registration, accessHash, pending, origin, isSecretTemplated } = cluster;
      const id = formatKey(key);
      const before = accessHashes.get(id);
      if (before !== undefined && before !== accessHash) credentials.invalidate(key);
      accessHashes.set(id, accessHash);
      if (pending !== undefined) return notConfigured(`${pending.reason}: ${pending.message}`);
      const isOwnChoice = origin.source === "clusterregistration" && isSecretTemplated !== true;
      const secretChosenBy = isOwnChoice ? "registration" : "source";
      return credentials.find(
        { key, registration: withHashAsGeneration(cluster, registration), secretChosenBy },
        signal,
      );
    },
    invalidate: (key) => {
      accessHashes.delete(formatKey(key));
      credentials.invalidate(key);
    },
  };
}

/**
 * Credential sources cache by generation. Endpoint and secret can change without a new generation, for example if a
 * ControlPlane's status names another secret or another object takes over the name, so the access hash replaces it.
 */
function withHashAsGeneration(
  { accessHash }: SourceCluster,
  registration: SourceCluster["registration"],
): SourceCluster["registration"] {
  const generation = Number.parseInt(accessHash.slice(0, 12), 16);
  return { ...registration, metadata: { ...registration.metadata, generation } };
}
