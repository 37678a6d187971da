import { isWorkspaceAddress } from "../logical-cluster.ts";

/** An APIExport: the workspace that holds it, and its name there. */
export type ExportAddress = Readonly<{ path: string; name: string }>;

/** The form of an export address, for messages. */
export const exportAddressForm = "a workspace and the export in it, like root:tmc:tmc.kcp.io";

/** A DNS subdomain, as Kubernetes names are. It contains no colon, so the last colon of an address ends the path. */
const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Parses `root:tmc:tmc.kcp.io`; undefined for a text of another form. */
export function parseExportAddress(text: string): ExportAddress | undefined {
  const at = text.lastIndexOf(":");
  const [path, name] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)];
  return isWorkspaceAddress(path) && namePattern.test(name) && name.length <= 253 ? { path, name } : undefined;
}

/** The inverse of `parseExportAddress`. */
export function formatExportAddress({ path, name }: ExportAddress): string {
  return `${path}:${name}`;
}
