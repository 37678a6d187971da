import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadType } from "../api/workload-kinds.ts";
import type { Log } from "../observe/log.ts";
import { awaitAnswer } from "../upstream/await-workspace.ts";
import { type CustomType, customWorkload, readCustomWorkloads } from "../upstream/custom-types.ts";

import { type ExportAddress, formatExportAddress } from "../upstream/export/address.ts";

export type LearnOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** The export whose types are read; undefined where there is none to ask. */
  apiExport: ExportAddress | undefined;
  /** Types that the operator names, for hubs that cannot be asked. */
  named: readonly CustomType[];
  clock: Clock;
  random: () => number;
  log: Log;
  /** Ends the wait for a hub that is away. */
  signal: AbortSignal;
}>;

/**
 * Finds out which types of workloads an operator has added, once, before anything is watched. A hub that is away is waited
 * for. Where the export may not be read, the process goes on with the types that it knows by itself, and says so.
 */
export async function learnWorkloads(options: LearnOptions): Promise<readonly WorkloadType[]> {
  const { client, apiExport, named, clock, random, log, signal } = options;
  const byFile = named.map(({ schema, type: { plural, group } }) => {
    const type = customWorkload(schema);
    if (type !== undefined) return type;
    const why = "only types with namespaces can be workloads";
    throw new ControllerError("invalid", `--crd: ${plural}.${group}: ${why}`);
  });
  if (apiExport === undefined) return byFile;
  const words = formatExportAddress(apiExport);
  const ask = async (): Promise<readonly WorkloadType[]> => {
    try {
      return await readCustomWorkloads(client, apiExport, signal);
    } catch (error) {
      const fault = faultOf(error);
      if (fault !== "forbidden" && fault !== "not-found") throw error;
      throw new ControllerError(fault, `export ${words}: its types cannot be read`, { cause: error });
    }
  };
  try {
    const onWait = (error: unknown, retryInMs: number): void =>
      log.warn("hub cannot be reached", { export: words, retryInSeconds: retryInMs / 1000, error });
    const offered = await awaitAnswer(client, ask, { clock, random, signal, onWait });
    return [...offered, ...byFile];
  } catch (error) {
    const fault = faultOf(error);
    if (fault !== "forbidden" && fault !== "not-found") throw error;
    // Whether there is such an export at all is found out, and said, by whoever looks for its tenants.
    log.warn("types of the export are not known", { export: words, error });
    return byFile;
  }
}
