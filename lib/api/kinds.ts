import { clusterRegistration } from "./cluster-registration.ts";
import type { ServedKind } from "./kind.ts";
import { workloadPlacement } from "./workload-placement.ts";
import { workloadSync } from "./workload-sync.ts";

/** Our own kinds. */
export const kinds: readonly ServedKind[] = [clusterRegistration, workloadPlacement, workloadSync];
