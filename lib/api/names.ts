import { type Field, stringField } from "./schema.ts";

/** Label of a Secret that allows its use as credentials of the registration that the value names. */
export const credentialsSecretLabel = "tmc.kcp.io/cluster-credentials";
/** Type of a Secret that allows its use as credentials of any registration in its workspace. */
export const credentialsSecretType = "tmc.kcp.io/cluster-credentials";

/** A field for the name of an object: an RFC 1123 subdomain. */
export function objectNameField(description: string): Field<string> {
  return stringField(description, {
    minLength: 1,
    maxLength: 253,
    pattern: "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
  });
}

/** A field for the type of a capability: compute, storage, networking, gpu or any other name. */
export function capabilityTypeField(description: string): Field<string> {
  return stringField(description, {
    minLength: 1,
    maxLength: 63,
    pattern: "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?$",
  });
}
