import type { Clock } from "@tmc/kube/clock.ts";
import type { Store } from "../../storage/store.ts";
import type { Catalogs } from "../catalogs.ts";
import type { Directory } from "../directory.ts";
import type { Random } from "../names.ts";
import type { SystemClient } from "../system-client.ts";
import type { WorkLoop } from "../work-loop.ts";

/** Artificial delays for operations that take a real kcp seconds. @default 0 */
export type KcpDelays = Readonly<{
  /** From a new APIBinding to `Bound`. */
  bindingMs?: number | undefined;
  /** From a new Workspace to `Ready`. */
  workspaceMs?: number | undefined;
}>;

/** Dependencies of kcp's controllers. */
export type ControllerWorld = Readonly<{
  client: SystemClient;
  directory: Directory;
  catalogs: Catalogs;
  store: Store;
  clock: Clock;
  random: Random;
  loop: WorkLoop;
  delays: () => KcpDelays;
  /** Scheme, host and port under which clients reach this server. */
  address: () => string;
  /** The certificate authority that workspaces publish in `kube-root-ca.crt`. */
  ca: () => string;
}>;
