import { clusterRegistration } from "./cluster-registration.ts";
import type { ServedKind } from "./kind.ts";
import { workloadPlacement } from "./workload-placement.ts";
import { workloadSync } from "./workload-sync.ts";
import { workloadTypes } from "./workload-types.ts";

/** Our own kinds. */
export const kinds: readonly ServedKind[] = [clusterRegistration, workloadPlacement, workloadSync];

/** Everything that TMC offers to tenants: its own kinds, and the workload types that kcp lacks. */
export const offeredKinds: readonly ServedKind[] = [...kinds, ...workloadTypes];
