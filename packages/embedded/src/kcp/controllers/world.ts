import type { Clock } from "@tmc/kube/clock.ts";
import type { Store } from "../../store.ts";
import type { Catalogs } from "../catalogs.ts";
import type { Directory } from "../directory.ts";
import type { Random } from "../names.ts";
import type { SystemClient } from "../system-client.ts";
import type { WorkLoop } from "../work-loop.ts";

/** How long the embedded kcp takes for what a real one takes seconds for. All zero unless said otherwise. */
export type Delays = Readonly<{
  /** From a new APIBinding to `Bound`. */
  bindingMs?: number | undefined;
  /** From a new Workspace to `Ready`. */
  workspaceMs?: number | undefined;
}>;

/** What kcp's controllers work with. */
export type ControllerWorld = Readonly<{
  client: SystemClient;
  directory: Directory;
  catalogs: Catalogs;
  store: Store;
  clock: Clock;
  random: Random;
  loop: WorkLoop;
  delays: () => Delays;
  /** Scheme, host and port under which clients reach this server. */
  address: () => string;
  /** The certificate authority that workspaces publish in `kube-root-ca.crt`. */
  ca: () => string;
}>;
