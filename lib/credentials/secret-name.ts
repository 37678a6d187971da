import type { ObjectKey } from "../model/key.ts";
import { tenantName } from "./credentials.ts";

/** The deployment and the hub that a process works for: secrets of others have other names. */
export type SecretScope = Readonly<{ stage: string; hubId: string }>;

/**
 * Returns the name of a registration's secret. It is derived from the key, so that a tenant cannot name another tenant's secret,
 * and begins with the stage, so that a policy can separate the stages of an account.
 */
export function secretNameOf({ stage, hubId }: SecretScope, { logicalCluster, name }: ObjectKey): string {
  return `${secretPrefix(stage)}${hubId}/${tenantName(logicalCluster)}/${name}`;
}

/** What the names of a stage's secrets begin with. */
export const secretPrefix = (stage: string): string => `tmc/${stage}/`;
