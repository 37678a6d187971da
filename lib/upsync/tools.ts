import type { Clock } from "@tmc/kube/clock.ts";
import type { Hub } from "../model/hub.ts";
import type { WorkKey } from "../model/key.ts";
import type { SyncSettings } from "../sync/settings.ts";
import type { WorkloadHub } from "../sync/workload-hub.ts";
import type { Births } from "./downstream-objects.ts";
import type { BornHub } from "./hub.ts";
import type { Notes } from "./notes.ts";

/** What upsync works with. */
export type UpsyncTools = Readonly<{
  /** Registrations. */
  hub: Pick<Hub, "read" | "list" | "writeStatus">;
  workloads: Pick<WorkloadHub, "read" | "list" | "types" | "namespaceLabels" | "tell">;
  born: BornHub;
  births: Births;
  notes: Notes;
  clock: Pick<Clock, "now">;
  settings: Pick<SyncSettings, "brake" | "retrySeconds" | "refusedSeconds">;
  /** Whether all of a logical cluster has been seen: until then nothing is decided about it. Who reads fresh has seen it. */
  isListed: (cluster: string) => boolean;
  /** Has keys looked at; fails when nobody can be told. */
  wake: (keys: readonly WorkKey[]) => Promise<void>;
  /** Hears of every write to a workspace, for counting. */
  onUpsync?: ((did: "created" | "changed" | "removed") => void) | undefined;
}>;
