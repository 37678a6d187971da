import type { CredentialSource } from "../credentials/credentials.ts";
import type { ObjectKey } from "../model/key.ts";
import { createClusterAccess } from "./access.ts";
import { asCluster, type Reading } from "./cluster.ts";
import { readClusterRegistration } from "./cluster-registration.ts";
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
      const reading = foreign ?? readClusterRegistration(registration, { cluster: key.cluster, template });
      return access.find(asCluster(reading), signal);
    },
    forget: access.forget,
  };
}
