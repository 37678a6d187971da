import { clusterRegistration } from "./cluster-registration.ts";
import type { ServedKind } from "./kind.ts";
import { workloadPlacement } from "./workload-placement.ts";
import { workloadSync } from "./workload-sync.ts";
import { workloadTypes } from "./workload-types.ts";

/** TMC's own kinds. */
export const kinds: readonly ServedKind[] = [clusterRegistration, workloadPlacement, workloadSync];

/** All kinds in TMC's export: its own kinds, and the workload types that kcp does not serve. */
export const offeredKinds: readonly ServedKind[] = [...kinds, ...workloadTypes];

/** Returns all kinds in TMC's export, with or without the warnings that the server sends about client-side apply. */
export function offeredKindsWith({
  warnings = true,
}: Readonly<{ warnings?: boolean | undefined }>): readonly ServedKind[] {
  return warnings ? offeredKinds : offeredKinds.map(({ warning: _, ...kind }) => kind);
}
