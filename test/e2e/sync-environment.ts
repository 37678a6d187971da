import { type Outcome, tmc } from "../lib/cli/support.ts";
import { type E2eContext, type Environment, tenantWorkspace } from "./environment.ts";
import { type TenantWork, tenantWork } from "./tenant-work.ts";

/** What the cases of sync are written with. */
export interface SyncBench {
  /** The tenant's work, once the controller runs. */
  begin(): Promise<E2eContext & Readonly<{ work: TenantWork }>>;
  /** Runs a command in the tenant's workspace. */
  run(world: Environment, args: readonly string[]): Promise<Outcome>;
  readonly waitMs: number;
}

/** The bench of a stage; waits take at most so long. */
export function syncBench(stage: () => E2eContext, waitMs: number): SyncBench {
  return {
    begin: async () => {
      const { world, tenant, form } = stage();
      await form.running();
      return { world, tenant, form, work: tenantWork(world, waitMs) };
    },
    run: (world, args) => tmc([...args, "--kubeconfig", world.kcpKubeconfig, "--workspace", tenantWorkspace]),
    waitMs,
  };
}
