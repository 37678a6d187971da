import type { ServedKind } from "./kind.ts";
import { kinds } from "./kinds.ts";
import { workloadTypes } from "./workload-types.ts";

/** Everything that TMC offers to tenants: its own kinds, and the workload types that kcp lacks. */
export const offeredKinds: readonly ServedKind[] = [...kinds, ...workloadTypes];
