import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";
import type { Clock } from "@tmc/kube/clock.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { parseKubeconfig } from "@tmc/kube/kubeconfig.ts";
import type { Endpoint } from "@tmc/kube/transport.ts";
import {
  asOutcome,
  type CredentialSource,
  type CredentialsOutcome,
  type NotConfigured,
  notConfigured,
} from "./credentials.ts";
import { createRemembered } from "./expiring-cache.ts";

export type FileCredentialsOptions = Readonly<{
  /** Paths of kubeconfigs by the name of the registration they are for. */
  kubeconfigs: ReadonlyMap<string, string>;
  /**
   * Whether the names count in a logical cluster. Where tenants do not know each other they must not: anyone can register
   * a cluster under a name. @default in all
   */
  servesCluster?: ((logicalCluster: string) => boolean) | undefined;
  clock: Clock;
}>;

/** A look at a workload asks a dozen times for its clusters: each file is looked at once a second, and by all of them together. */
const lookAgainMs = 1_000;

type Stamp = Readonly<{ modifiedMs: number; size: number; inode: number }>;
type Read = Readonly<{ stamp: Stamp; result: Endpoint | NotConfigured }>;

/**
 * Credentials from kubeconfig files that the operator names. A file is read again within a second of its change, and at once when
 * what it said was refused. What a registration says about its endpoint is not looked at: a tenant must not lead the operator's
 * credentials to another server.
 */
export function createFileCredentials(options: FileCredentialsOptions): CredentialSource {
  const { kubeconfigs, servesCluster = () => true, clock } = options;
  const known = new Map<string, Read>();
  // There are few files, so nothing has to be spread.
  const looks = createRemembered<CredentialsOutcome>({ clock, random: () => 1 });

  const read = async (name: string, path: string): Promise<Endpoint | NotConfigured> => {
    const stamp = await stampOf(path);
    if (stamp === undefined) {
      known.delete(path);
      return notConfigured(`the kubeconfig of cluster "${name}" cannot be read: ${path}`, "CredentialsInvalid");
    }
    const before = known.get(path);
    if (before !== undefined && isSame(before.stamp, stamp)) return before.result;
    const result = await parseFile(name, path, clock);
    known.set(path, { stamp, result });
    return result;
  };

  const look = async (name: string, path: string): Promise<CredentialsOutcome> => {
    const result = await read(name, path);
    if ("kind" in result) return result;
    try {
      return await asOutcome(result, { givenBy: "operator", nowMs: clock.now() });
    } catch {
      // Only its token file can fail here; the system's words repeat the path and add nothing.
      return notConfigured(`the token file of cluster "${name}" cannot be read`, "CredentialsInvalid");
    }
  };

  return {
    find: async ({ key: { logicalCluster, name } }, signal) => {
      const path = servesCluster(logicalCluster) ? kubeconfigs.get(name) : undefined;
      if (path === undefined) return notConfigured(`no kubeconfig is given for cluster "${name}"`);
      const read = async () => ({ value: await look(name, path), rememberMs: lookAgainMs });
      return looks.get(name, read, signal);
    },
    forget: ({ name }) => {
      looks.forget(name);
      const path = kubeconfigs.get(name);
      if (path !== undefined) known.delete(path);
    },
  };
}

/** Reads `name=path,name=path`, the form of the command line; throws with everything that is wrong with it. */
export function parseClusterKubeconfigs(text: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  const problems: string[] = [];
  for (const entry of text.split(",").map((part) => part.trim())) {
    const at = entry.indexOf("=");
    const name = entry.slice(0, Math.max(0, at)).trim();
    const path = entry.slice(at + 1).trim();
    if (at < 0 || name === "" || path === "") problems.push(`"${entry}" is not name=path`);
    else if (!/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name)) problems.push(`"${name}" is not the name of a cluster`);
    else if (files.has(name)) problems.push(`"${name}" is given twice`);
    else files.set(name, path);
  }
  if (problems.length > 0) throw new ControllerError("invalid", `cluster kubeconfigs: ${problems.join("; ")}`);
  return files;
}

async function stampOf(path: string): Promise<Stamp | undefined> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return { modifiedMs: mtimeMs, size, inode: ino };
  } catch {
    return undefined;
  }
}

const isSame = (one: Stamp, other: Stamp): boolean =>
  one.modifiedMs === other.modifiedMs && one.size === other.size && one.inode === other.inode;

async function parseFile(name: string, path: string, clock: Clock): Promise<Endpoint | NotConfigured> {
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
