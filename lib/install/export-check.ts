import { createHash } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { exportName } from "../api/group.ts";
import type { HealthChecks } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import { type ApiExport, apiExports, apiResourceSchemas } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { exportObjects } from "./bootstrap-objects.ts";
import { type ExportFacts, type ExportVerdict, evaluateExport, exportConfigured } from "./export-conditions.ts";

/**
 * Reads the export and its schemas.
 *
 * @param provider a client for the workspace of the export
 */
export async function readExportFacts(provider: KubeClient, signal?: AbortSignal): Promise<ExportFacts> {
  const schemas = new Map<string, KubeObject>();
  const needed = exportObjects().filter(({ kind }) => kind === "APIResourceSchema");
  const [found] = await Promise.all([
    readExport(provider, signal),
    ...needed.map(async ({ metadata: { name } }) => {
      const schema = await provider
        .get<KubeObject>({ type: apiResourceSchemas, name }, { signal })
        .catch(undefinedIfNotFound);
      if (schema !== undefined) schemas.set(name, schema);
    }),
  ]);
  return { export: found, schemas };
}

const readExport = (provider: KubeClient, signal: AbortSignal | undefined): Promise<ApiExport | undefined> =>
  provider.get<ApiExport>({ type: apiExports, name: exportName }, { signal }).catch(undefinedIfNotFound);

function undefinedIfNotFound(error: unknown): undefined {
  if (faultOf(error) !== "not-found") throw error;
  return undefined;
}

export type ExportCheckOptions = Readonly<{
  /** A client for the root of the server. */
  client: KubeClient;
  /** The workspace of the export. */
  exportPath: string;
  clock: Clock;
  health: HealthChecks;
  log: Log;
  /** @default 300 */
  everySeconds?: number | undefined;
}>;

/** Checks the export periodically. */
export interface ExportCheck {
  /** Checks now and then at every interval. */
  start(): void;
  /** Checks once; undefined if the export cannot be read. */
  checkNow(): Promise<ExportVerdict | undefined>;
  stop(): void;
}

/**
 * Creates a periodic check whether the export is what this version of TMC needs. It reports the result in the health of the
 * process, in the log and, if permitted, in an Event of the export. It changes nothing.
 *
 * If the export cannot be read, because of missing permissions or an unreachable server, the health check passes and says
 * that the state is unknown.
 */
export function createExportCheck(options: ExportCheckOptions): ExportCheck {
  const { client, exportPath, clock, log, everySeconds = 300 } = options;
  const provider = clientOf(client, exportPath);
  const check = options.health.register(exportConfigured);
  check.pass("not checked yet"); // readiness does not wait for the first check
  const end = new AbortController();
  let observedVersions = "";
  let verdict: ExportVerdict | undefined;
  let reported = "";

  const report = async (verdict: ExportVerdict): Promise<void> => {
    const summary = `${verdict.reason}: ${verdict.message}`;
    if (verdict.status === "True") check.pass(verdict.message);
    else check.fail(summary);
    if (summary === reported) return;
    const wasReported = reported !== "";
    reported = summary;
    const fields = { export: exportName, workspace: exportPath, reason: verdict.reason, detail: verdict.message };
    if (verdict.status === "True") {
      log.info("export is configured", fields);
      if (!wasReported) return; // no Event if the export was configured from the start
    } else log.warn("export is not configured", fields);
    await provider
      .create(
        { type: { group: "", version: "v1", plural: "events" }, namespace: "default" },
        eventOf(verdict, clock.now()),
        { signal: end.signal, fieldManager: "tmc" },
      )
      .catch((error: unknown) => log.debug("cannot write event about the export", { error }));
  };

  const checkNow = async (): Promise<ExportVerdict | undefined> => {
    try {
      // Usually nothing has changed. Names and UIDs of the schemas show that without reading their content.
      const [found, listed] = await Promise.all([
        readExport(provider, end.signal),
        provider.metadata.listAll<KubeObject>({ type: apiResourceSchemas }, { signal: end.signal }),
      ]);
      const now = JSON.stringify([
        found?.metadata.resourceVersion,
        listed.items.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).toSorted(),
      ]);
      if (verdict === undefined || now !== observedVersions)
        verdict = evaluateExport(await readExportFacts(provider, end.signal));
      observedVersions = now;
    } catch (error) {
      if (end.signal.aborted) return undefined;
      check.pass(`unknown: ${error instanceof Error ? error.message : "unknown failure"}`);
      log.debug("cannot read export", { export: exportName, workspace: exportPath, error });
      return undefined;
    }
    await report(verdict);
    return verdict;
  };

  const run = async (): Promise<void> => {
    do await checkNow();
    while (await delay(clock, everySeconds * 1000, end.signal));
  };

  return {
    start: () => void run(),
    checkNow,
    stop: () => {
      end.abort();
      check.remove();
    },
  };
}

/** The name contains a hash of minute and message, so that two processes create only one Event. */
function eventOf({ status, reason, message }: ExportVerdict, nowMs: number): object {
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const hash = createHash("sha256")
    .update(`${time.slice(0, 16)} ${message}`)
    .digest("hex")
    .slice(0, 16);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${exportName}.${hash}`, namespace: "default" },
    involvedObject: { apiVersion: "apis.kcp.io/v1alpha2", kind: "APIExport", name: exportName },
    type: status === "True" ? "Normal" : "Warning",
    reason,
    message: `${exportConfigured}=${status}: ${message}`.slice(0, 1000),
    source: { component: "tmc" },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
}
