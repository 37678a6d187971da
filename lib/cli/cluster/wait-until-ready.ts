import { waitUntil } from "../../install/wait.ts";
import { findCondition } from "../../model/condition.ts";
import type { CliIo } from "../cli-io.ts";
import type { OpenWorkspace } from "../workspace.ts";

/** Waits until a registered cluster is Ready. The timeout error has the reason why it is not. */
export async function waitUntilReady(
  io: CliIo,
  workspace: OpenWorkspace,
  name: string,
  timeoutSeconds: number,
): Promise<void> {
  await waitUntil(
    `cluster ${name} to be Ready`,
    async () => {
      const ready = findCondition((await workspace.registration(name)).status?.conditions, "Ready");
      if (ready?.status === "True") return { done: true };
      return { missing: ready === undefined ? "no controller has probed it" : `${ready.reason}: ${ready.message}` };
    },
    { timeoutMs: timeoutSeconds * 1000, clock: io.clock },
  );
  io.out(`clusterregistration.tmc.kcp.io/${name} is Ready\n`);
}
