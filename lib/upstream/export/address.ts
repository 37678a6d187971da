import { isWorkspaceAddress } from "../logical-cluster.ts";

/** An APIExport: the workspace that holds it, and its name there. */
export type ExportAddress = Readonly<{ path: string; name: string }>;

/** What an export's address looks like, for messages. */
export const exportAddressForm = "a workspace and the export in it, like root:tmc:tmc.kcp.io";

/** A name as Kubernetes has them: labels with dots between. It has no colon, so the last one of an address ends the path. */
const namePattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** Reads `root:tmc:tmc.kcp.io`; undefined for a text of another form. */
export function parseExportAddress(text: string): ExportAddress | undefined {
  const at = text.lastIndexOf(":");
  const [path, name] = [text.slice(0, Math.max(0, at)), text.slice(at + 1)];
  return isWorkspaceAddress(path) && namePattern.test(name) && name.length <= 253 ? { path, name } : undefined;
}

/** The text that `parseExportAddress` reads. */
export function formatExportAddress({ path, name }: ExportAddress): string {
  return `${path}:${name}`;
}
