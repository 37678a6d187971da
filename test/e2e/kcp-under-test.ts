import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmbeddedKcp } from "@tmc/embedded/kcp/embedded-kcp.ts";
import { formatKubeconfig } from "@tmc/kube/kubeconfig/kubeconfig-file.ts";
import type { Endpoint } from "@tmc/kube/transport/transport.ts";
import { connect } from "../contract/connect.ts";
import type { ServerUnderTest } from "../contract/server-under-test.ts";
import { realServers } from "../real/servers.ts";

/** A kcp with two users who have no rights yet. */
export type KcpUnderTest = ServerUnderTest &
  Readonly<{
    users: Readonly<{ alice: string; bob: string }>;
    /** Writes the admin's kubeconfig, its context in a workspace, and answers where it is. @default root, admin.kubeconfig */
    writeKubeconfig(folder: string, workspace?: string, file?: string): Promise<string>;
  }>;

/** Starts a kcp in this process. */
export async function startEmbedded(): Promise<KcpUnderTest> {
  const users = { alice: "token-of-alice", bob: "token-of-bob" };
  const kcp = await startEmbeddedKcp({
    users: Object.entries(users).map(([name, token]) => ({ name, token })),
  });
  const endpoint = { ...kcp.endpoint("root"), server: kcp.url, token: async () => kcp.adminToken };
  return kcpUnderTest(endpoint, { users, adminToken: kcp.adminToken, stop: () => kcp.stop() });
}

/** The real kcp of the run. */
export async function useReal(): Promise<KcpUnderTest> {
  const { kcp } = realServers();
  const users = { alice: kcp.users.alice.token, bob: kcp.users.bob.token };
  const endpoint = { server: kcp.url, ca: kcp.ca, token: async () => kcp.adminToken };
  return kcpUnderTest(endpoint, { users, adminToken: kcp.adminToken, stop: async () => {} });
}

function kcpUnderTest(
  endpoint: Endpoint,
  {
    users,
    adminToken,
    stop,
  }: Readonly<{ users: KcpUnderTest["users"]; adminToken: string; stop: () => Promise<void> }>,
): KcpUnderTest {
  return {
    ...connect("kcp", endpoint, stop),
    users,
    writeKubeconfig: async (folder, workspace = "root", file = "admin.kubeconfig") => {
      const path = join(folder, file);
      const to = { server: `${endpoint.server}/clusters/${workspace}`, ca: endpoint.ca };
      await writeFile(path, formatKubeconfig({ contexts: [{ name: workspace, endpoint: to, token: adminToken }] }));
      return path;
    },
  };
}
