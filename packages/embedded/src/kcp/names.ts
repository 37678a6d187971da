import { createHash } from "node:crypto";
import type { PermissionClaim } from "./claims.ts";

/** A number from 0 up to but not including 1; handed in, so that a run can be repeated. */
export type Random = () => number;

/** The annotation that says in which logical cluster an object is. */
export const clusterAnnotation = "kcp.io/cluster";
/** The annotation that says by which path an object's logical cluster is reached. */
export const pathAnnotation = "kcp.io/path";
export const ownerAnnotation = "experimental.tenancy.kcp.io/owner";
export const typeAnnotation = "internal.tenancy.kcp.io/type";
export const phaseLabel = "tenancy.kcp.io/phase";
export const exportLabel = "internal.apis.kcp.io/export";
export const claimLabelPrefix = "claimed.internal.apis.kcp.io/";
export const resourceBindingsAnnotation = "internal.apis.kcp.io/resource-bindings";
export const bindingFinalizer = "apis.kcp.io/apibinding-finalizer";
export const workspaceFinalizer = "core.kcp.io/logicalcluster";
export const logicalClusterFinalizer = "core.kcp.io/logicalcluster-deletion";
export const skipSliceAnnotation = "apiexports.apis.kcp.io/skip-endpointslice";
/** The hash of the name of the only shard, `root`, as workspaces carry it. */
export const shardHash = "1pfxsevk";
export const identityNamespace = "kcp-system";

/** A name for a new logical cluster: 16 characters of base 36. */
export function clusterName(random: Random): string {
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

/** The name of a binding that kcp makes itself, for a workspace type's default export. */
export function defaultBindingName(cluster: string, exportPath: string, exportName: string): string {
  return `${exportName.slice(0, 247)}-${hashOf(`${cluster}|${exportPath}|${exportName}`).slice(0, 5).toLowerCase()}`;
}

const exportHashes = new Map<string, string>();

/** What stands for an export in labels. */
export function exportHash(exportCluster: string, exportName: string): string {
  const text = `${exportCluster}:${exportName}`;
  const known = exportHashes.get(text);
  if (known !== undefined) return known;
  const hash = hashOf(text);
  exportHashes.set(text, hash);
  return hash;
}

/** The value of a binding's own claim label, by which the export it binds finds it. */
export const reflexiveClaimValue = base62("00010203040506070809000102030405060708090001020304050607");

/** The value of the claim label on objects that the claim lets the export see. */
export function claimValue({ group, resource, identityHash, defaultSelector }: PermissionClaim): string {
  // The fields in the order, and with the omissions, that Go's encoder has for the claim; verbs never count.
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

/** The secret key of an export's identity. */
export function identityKey(random: Random): string {
  return Buffer.from(Array.from({ length: 32 }, () => Math.floor(random() * 256))).toString("base64url");
}

/** The public name of an export's identity. */
export const identityHash = (key: string): string => createHash("sha256").update(key).digest("hex");
