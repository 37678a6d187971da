import { createKubeClient } from "@tmc/kube/rest-client.ts";
import { createUndiciTransport } from "@tmc/kube/transport/undici-transport.ts";
import { exportWorkspace } from "../../lib/api/group.ts";
import { bindExport, installExport } from "../../lib/install/bind.ts";
import { ensureWorkspace } from "../../lib/install/workspaces.ts";
import { clientOf } from "../../lib/upstream/logical-cluster.ts";
import type { Target } from "./clients/bench-client.ts";

/** A real kcp or cluster. */
export type RealServer = Readonly<{
  url: string;
  ca: string;
  adminToken: string;
  auditLog: string | undefined;
  stop(): Promise<unknown>;
}>;

/** A real server as clients reach it. */
export type RealTarget = Target & Pick<RealServer, "auditLog">;

/** Waits for servers that start at once; all have started or failed before anything is thrown, and whatever started is stopped with the stack. */
export async function startTogether(
  stack: AsyncDisposableStack,
  starts: readonly Promise<RealServer>[],
): Promise<RealTarget[]> {
  const results = await Promise.allSettled(
    starts.map(async (starting) => {
      const server = await starting;
      stack.defer(async () => {
        await server.stop();
      });
      const { url, ca, adminToken, auditLog } = server;
      return { server: url, ca, token: adminToken, auditLog };
    }),
  );
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}

/** Installs the export, and binds it in these workspaces, which are made where they are missing. */
export async function prepareKcp({ server, ca, token }: Target, workspaces: readonly string[]): Promise<void> {
  const endpoint = { server, ca, token: async () => token };
  const client = createKubeClient({ endpoint, transport: createUndiciTransport(endpoint), name: "kcp" });
  await ensureWorkspace(client, exportWorkspace);
  await installExport(clientOf(client, exportWorkspace));
  for (const workspace of workspaces) {
    await ensureWorkspace(client, workspace);
    await bindExport(clientOf(client, workspace), exportWorkspace);
  }
  await client.close();
}
