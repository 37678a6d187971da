import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { formatKey, type ObjectKey } from "../model/key.ts";
import {
  type CredentialSource,
  type CredentialsNotConfigured,
  type CredentialsOutcome,
  notConfigured,
  outcomeOf,
} from "./credentials.ts";
import { createExpiringCache } from "./expiring-cache.ts";

export type FileCredentialsOptions = Readonly<{
  /**
   * Kubeconfig paths by `workspace/registration`, or by `registration` for all workspaces. The second is safe for one tenant
   * only: any tenant can create a registration with the name, and would get the operator's credentials.
   */
  kubeconfigs: ReadonlyMap<string, string>;
  /** The path of the workspace of a logical cluster. @default the name of the logical cluster */
  workspaceOf?: ((logicalCluster: string) => string) | undefined;
  clock: Clock;
}>;

/** One workload reconcile asks for credentials about a dozen times, so each file is checked at most once per second. */
const recheckMs = 1_000;

type FileVersion = Readonly<{ modifiedMs: number; size: number; inode: number }>;
type ParsedFile = Readonly<{ version: FileVersion; result: Endpoint | CredentialsNotConfigured }>;

/**
 * Creates the credential source for kubeconfig files that the operator configures. A changed file is read again within a
 * second, and immediately after the cluster rejected its credentials. `spec.endpoint` of the registration is ignored: a tenant
 * must not redirect the operator's credentials to another server.
 */
export function createFileCredentials(options: FileCredentialsOptions): CredentialSource {
  const { kubeconfigs, workspaceOf = (logicalCluster) => logicalCluster, clock } = options;
  const parsedFiles = new Map<string, ParsedFile>();
  // There are few files, so the TTL needs no jitter.
  const outcomes = createExpiringCache<CredentialsOutcome>({ clock, random: () => 1 });

  const pathOf = ({ logicalCluster, name }: ObjectKey): string | undefined =>
    kubeconfigs.get(`${workspaceOf(logicalCluster)}/${name}`) ??
    kubeconfigs.get(`${logicalCluster}/${name}`) ??
    kubeconfigs.get(name);

  const read = async (name: string, path: string): Promise<Endpoint | CredentialsNotConfigured> => {
    const version = await versionOf(path);
    if (version === undefined) {
      parsedFiles.delete(path);
      return notConfigured(`the kubeconfig of cluster "${name}" cannot be read: ${path}`, "CredentialsInvalid");
    }
    const before = parsedFiles.get(path);
    if (before !== undefined && isSameVersion(before.version, version)) return before.result;
    const result = await parseFile(name, path, clock);
    parsedFiles.set(path, { version, result });
    return result;
  };

  const readOutcome = async (name: string, path: string): Promise<CredentialsOutcome> => {
    const result = await read(name, path);
    if ("kind" in result) return result;
    try {
      return await outcomeOf(result, { providedBy: "operator", nowMs: clock.now() });
    } catch {
      // Only reading the token file can fail here. The system's error message would only repeat the path.
      return notConfigured(`the token file of cluster "${name}" cannot be read`, "CredentialsInvalid");
    }
  };

  return {
    find: async ({ key }, signal) => {
      const { name } = key;
      const path = pathOf(key);
      if (path === undefined) return notConfigured(`no kubeconfig is configured for cluster "${name}"`);
      const read = async () => ({ value: await readOutcome(name, path), ttlMs: recheckMs });
      return outcomes.get(formatKey(key), read, signal);
    },
    invalidate: (key) => {
      outcomes.invalidate(formatKey(key));
      const path = pathOf(key);
      if (path !== undefined) parsedFiles.delete(path);
    },
  };
}

/** Parses the flag value `name=path,name=path`; throws an error that names everything that is wrong with it. */
export function parseClusterKubeconfigs(text: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const errors: string[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    const at = entry.indexOf("=");
    const name = entry.slice(0, Math.max(0, at)).trim();
    const path = entry.slice(at + 1).trim();
    if (at < 0 || name === "" || path === "") errors.push(`"${entry}" is not name=path`);
    else if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) errors.push(`"${name}" is not a valid cluster name`);
    else if (files.has(name)) errors.push(`"${name}" is given twice`);
    else files.set(name, path);
  }
  if (errors.length > 0) throw new ControllerError("invalid", `cluster kubeconfigs: ${errors.join("; ")}`);
  return files;
}

async function versionOf(path: string): Promise<FileVersion | undefined> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return { modifiedMs: mtimeMs, size, inode: ino };
  } catch {
    return undefined;
  }
}

const isSameVersion = (one: FileVersion, other: FileVersion): boolean =>
  one.modifiedMs === other.modifiedMs && one.size === other.size && one.inode === other.inode;

async function parseFile(name: string, path: string, clock: Clock): Promise<Endpoint | CredentialsNotConfigured> {
  try {
    const text = await readFile(path, "utf8");
    return parseKubeconfig(text, { allow: "files", directory: dirname(path), clock }).endpoint;
  } catch (error) {
    if (!(error instanceof ControllerError)) {
      return notConfigured(`the kubeconfig of cluster "${name}" cannot be read: ${path}`, "CredentialsInvalid");
    }
    return notConfigured(`the kubeconfig of cluster "${name}" cannot be used: ${error.message}`, "CredentialsInvalid");
  }
}
