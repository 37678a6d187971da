import { createHash } from "node:crypto";
import type { PermissionClaim } from "./claims.ts";

/** Returns a number in [0, 1), like Math.random. Injected, so that runs are reproducible. */
export type Random = () => number;

/** Annotation with the logical cluster of an object. */
export const kcpClusterAnnotation = "kcp.io/cluster";
/** Annotation with the path of an object's logical cluster. */
export const pathAnnotation = "kcp.io/path";
export const workspaceOwnerAnnotation = "experimental.tenancy.kcp.io/owner";
export const typeAnnotation = "internal.tenancy.kcp.io/type";
export const phaseLabel = "tenancy.kcp.io/phase";
export const exportLabel = "internal.apis.kcp.io/export";
export const claimLabelPrefix = "claimed.internal.apis.kcp.io/";
export const resourceBindingsAnnotation = "internal.apis.kcp.io/resource-bindings";
export const bindingFinalizer = "apis.kcp.io/apibinding-finalizer";
export const workspaceFinalizer = "core.kcp.io/logicalcluster";
export const logicalClusterFinalizer = "core.kcp.io/logicalcluster-deletion";
export const skipSliceAnnotation = "apiexports.apis.kcp.io/skip-endpointslice";
/** Hash of the name of the only shard, `root`, as in the annotations of workspaces. */
export const shardHash = "1pfxsevk";
export const identityNamespace = "kcp-system";

/** Generates the name of a logical cluster: 16 characters of base 36. */
export function generateLogicalClusterName(random: Random): string {
  return Array.from({ length: 16 }, () => Math.floor(random() * 36).toString(36)).join("");
}

const digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

function base62(hex: string): string {
  let rest = BigInt(`0x${hex}`);
  let text = "";
  while (rest > 0n) {
    text = (digits[Number(rest % 62n)] ?? "") + text;
    rest /= 62n;
  }
  return text;
}

const hashOf = (text: string): string => base62(createHash("sha224").update(text).digest("hex"));

/** Name of the binding that kcp creates for a default export of a workspace type. */
export function defaultBindingName(logicalCluster: string, exportPath: string, exportName: string): string {
  return `${exportName.slice(0, 247)}-${hashOf(`${logicalCluster}|${exportPath}|${exportName}`).slice(0, 5).toLowerCase()}`;
}

const exportHashes = new Map<string, string>();

/** Hash that identifies an export in labels. */
export function exportHash(exportCluster: string, exportName: string): string {
  const text = `${exportCluster}:${exportName}`;
  const known = exportHashes.get(text);
  if (known !== undefined) return known;
  const hash = hashOf(text);
  exportHashes.set(text, hash);
  return hash;
}

/** Claim label value on a binding, by which the bound export finds it. */
export const reflexiveClaimValue = base62("00010203040506070809000102030405060708090001020304050607");

/** Claim label value on objects that a claim lets the export see. */
export function claimValue({ group, resource, identityHash, defaultSelector }: PermissionClaim): string {
  // Encodes the claim as Go does, with the same field order and omissions. Verbs are not part of the hash.
  return hashOf(
    JSON.stringify({
      ...(group === "" ? {} : { group }),
      resource,
      verbs: null,
      ...(identityHash === "" ? {} : { identityHash }),
      ...(defaultSelector === undefined ? {} : { defaultSelector }),
    }),
  );
}

/** Generates the secret key of an export's identity. */
export function identityKey(random: Random): string {
  return Buffer.from(Array.from({ length: 32 }, () => Math.floor(random() * 256))).toString("base64url");
}

/** The public hash of an export's identity key. */
export const identityHash = (key: string): string => createHash("sha256").update(key).digest("hex");
