import { inject } from "vitest";
import type { StaticUser } from "./api-server-flags.ts";

/** A real server that runs for the whole test run; what a test puts there it removes, or makes in a place of its own. */
export type RealServer = Readonly<{
  /** Without a path. */
  url: string;
  /** PEM. */
  ca: string;
  adminToken: string;
  /** For the admin. kcp: contexts `root` (current) and `base`; cluster: context `cluster`. */
  kubeconfig: string;
  /** The same as a file. */
  kubeconfigPath: string;
  /** One JSON object a line for each request the server has answered. */
  auditLogPath: string;
  /** Users without any rights, until a test gives them some. */
  users: Readonly<{ alice: StaticUser; bob: StaticUser }>;
}>;

export type RealServers = Readonly<{
  kcp: RealServer & Readonly<{ shardAdminToken: string }>;
  cluster: RealServer & Readonly<{ adminCertificate: string; adminKey: string }>;
  /** The path of the kubectl that was built beside the servers. */
  kubectl: string;
}>;

declare module "vitest" {
  interface ProvidedContext {
    realServers: RealServers;
  }
}

/** The real kcp and the real cluster of this test run. */
export function realServers(): RealServers {
  return inject("realServers");
}
