import { faultOf } from "@tmc/kube/errors.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import { workloadKindsWith } from "../api/workload-kinds.ts";
import type { Environment } from "../engine/environment.ts";
import { readCustomWorkloads } from "../upstream/custom-workloads.ts";
import type { OpenedHub } from "./cloud.ts";
import type { Tools } from "./function.ts";

/**
 * Every type of workload that is looked after, with those that an operator has added to the export. Where these cannot be read,
 * the process goes on with the types that it knows by itself, and says so: whatever it does not know another process does,
 * and resync comes back to it.
 */
export async function knownWorkloads(
  { root }: Pick<OpenedHub, "root">,
  { log, environment: { apiExport } }: Tools & Readonly<{ environment: Pick<Environment, "apiExport"> }>,
): Promise<readonly WorkloadType[]> {
  if (apiExport === undefined) return workloadKindsWith();
  try {
    return workloadKindsWith(await readCustomWorkloads(root, apiExport));
  } catch (error) {
    if (faultOf(error) === undefined) throw error;
    log.warn("types of the export are not known", { error });
    return workloadKindsWith();
  }
}
