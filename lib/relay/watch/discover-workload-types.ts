import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { typeId, type WorkloadType } from "../../api/workload-kinds.ts";
import type { Log } from "../../observe/log.ts";
import { awaitAnswer } from "../../upstream/await-workspace.ts";
import { type CustomType, customWorkload, readCustomWorkloads } from "../../upstream/custom-types.ts";
import { type ExportAddress, formatExportAddress } from "../../upstream/export/address.ts";

export type DiscoverWorkloadTypesOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** The export whose types are read; undefined if upstream has no export. */
  apiExport: ExportAddress | undefined;
  /** Types from the operator's `--crd` files, for an upstream that has no export. */
  typesFromFiles: readonly CustomType[];
  clock: Clock;
  random: () => number;
  log: Log;
  /** Stops the wait for an unreachable upstream. */
  signal: AbortSignal;
}>;

/** Returns the workload types of the operator's `--crd` files. */
export function customWorkloadsOf(typesFromFiles: readonly CustomType[]): readonly WorkloadType[] {
  return typesFromFiles.map(({ schema, type: { plural, group } }) => {
    const type = customWorkload(schema);
    if (type !== undefined) return type;
    const reason = "only namespaced types can be workloads";
    throw new ControllerError("invalid", `--crd: ${plural}.${group}: ${reason}`);
  });
}

/**
 * Reads which workload types an operator has added, before any watch starts. It waits for an unreachable upstream. If
 * the export cannot be read, it logs a warning and returns the types from files.
 */
export async function discoverWorkloadTypes(options: DiscoverWorkloadTypesOptions): Promise<readonly WorkloadType[]> {
  const { client, apiExport, typesFromFiles, clock, random, log, signal } = options;
  const fromFiles = customWorkloadsOf(typesFromFiles);
  if (apiExport === undefined) return fromFiles;
  const exportText = formatExportAddress(apiExport);
  const read = async (): Promise<readonly WorkloadType[]> => {
    try {
      return await readCustomWorkloads(client, apiExport, signal);
    } catch (error) {
      const fault = faultOf(error);
      if (fault !== "forbidden" && fault !== "not-found") throw error;
      throw new ControllerError(fault, `export ${exportText}: cannot read its types`, { cause: error });
    }
  };
  try {
    const onWait = (error: unknown, retryInMs: number): void =>
      log.warn("upstream is unreachable", { export: exportText, retryInSeconds: retryInMs / 1000, error });
    const fromExport = await awaitAnswer(client, read, { clock, random, signal, onWait });
    return [...fromExport, ...fromFiles];
  } catch (error) {
    const fault = faultOf(error);
    if (fault !== "forbidden" && fault !== "not-found") throw error;
    // `Scope.find` reads the export too, and fails if it does not exist.
    log.warn("cannot read the types of the export", { export: exportText, error });
    return fromFiles;
  }
}

export type TypeWatchOptions = Pick<DiscoverWorkloadTypesOptions, "client" | "clock" | "log" | "signal"> &
  Readonly<{
    apiExport: ExportAddress;
    /** The types that this process serves. */
    known: readonly WorkloadType[];
    periodSeconds: number;
  }>;

/**
 * Reads the types of the export once per period, and resolves when one was added or changed. Never resolves after an abort.
 */
export function whenTypesChange(options: TypeWatchOptions): Promise<void> {
  const { client, apiExport, known, periodSeconds, clock, log, signal } = options;
  return new Promise((resolve) => {
    const read = async (): Promise<void> => {
      try {
        const types = await readCustomWorkloads(client, apiExport, signal);
        const served = new Set(known.map(describeType));
        if (types.some((type) => !served.has(describeType(type)))) {
          resolve();
          return;
        }
      } catch (error) {
        if (signal.aborted) return;
        log.debug("cannot read the types of the export", { export: formatExportAddress(apiExport), error });
      }
      schedule();
    };
    const schedule = (): void => {
      if (signal.aborted) return;
      const cancel = clock.after(periodSeconds * 1000, () => {
        signal.removeEventListener("abort", cancel);
        void read();
      });
      signal.addEventListener("abort", cancel, { once: true });
    };
    schedule();
  });
}

/** Everything in a type that a running controller depends on. */
function describeType({ type, custom }: WorkloadType): string {
  const { strategy, sum = [] } = custom?.statusRule ?? {};
  return JSON.stringify([typeId(type), custom?.definition.fingerprint, custom?.hasStatus, strategy, [...sum]]);
}
