import { createHash } from "node:crypto";
import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { delay } from "@tmc/kube/deadline.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { exportName } from "../api/group.ts";
import type { Health } from "../observe/health.ts";
import type { Log } from "../observe/log.ts";
import { type ApiExport, apiExports, apiResourceSchemas } from "../upstream/kcp-types.ts";
import { clientOf } from "../upstream/logical-cluster.ts";
import { exportObjects } from "./bootstrap-objects.ts";
import { type ExportFacts, type ExportVerdict, exportConfigured, judgeExport } from "./export-conditions.ts";

/**
 * Reads what there is to judge about the export in a workspace.
 *
 * @param provider a client in the workspace that holds the export
 */
export async function readExportFacts(provider: KubeClient, signal?: AbortSignal): Promise<ExportFacts> {
  const schemas = new Map<string, KubeObject>();
  const needed = exportObjects().filter(({ kind }) => kind === "APIResourceSchema");
  const [found] = await Promise.all([
    readExport(provider, signal),
    ...needed.map(async ({ metadata: { name } }) => {
      const schema = await provider
        .get<KubeObject>({ type: apiResourceSchemas, name }, { signal })
        .catch(undefinedIfMissing);
      if (schema !== undefined) schemas.set(name, schema);
    }),
  ]);
  return { export: found, schemas };
}

const readExport = (provider: KubeClient, signal: AbortSignal | undefined): Promise<ApiExport | undefined> =>
  provider.get<ApiExport>({ type: apiExports, name: exportName }, { signal }).catch(undefinedIfMissing);

function undefinedIfMissing(error: unknown): undefined {
  if (faultOf(error) !== "not-found") throw error;
  return undefined;
}

export type ExportCheckOptions = Readonly<{
  /** A client at the server's root. */
  client: KubeClient;
  /** The workspace that holds the export. */
  exportPath: string;
  clock: Clock;
  health: Health;
  log: Log;
  /** @default 300 */
  everySeconds?: number | undefined;
}>;

/** Looks after the export for as long as a process runs. */
export interface ExportCheck {
  /** Looks now and then every few minutes. */
  start(): void;
  /** Looks once; undefined when that could not be done. */
  look(): Promise<ExportVerdict | undefined>;
  stop(): void;
}

/**
 * Creates what looks again and again whether the export is what this version needs. It says so in the health of the
 * process, in the log and, where it may, in an event beside the export; it repairs nothing and touches no other export.
 *
 * An export that cannot be read, for want of rights or of a server, is no finding: the check says that it does not know.
 */
export function createExportCheck(options: ExportCheckOptions): ExportCheck {
  const { client, exportPath, clock, log, everySeconds = 300 } = options;
  const provider = clientOf(client, exportPath);
  const check = options.health.register(exportConfigured);
  check.pass("not looked at yet"); // nobody is to wait for it
  const end = new AbortController();
  let seen = "";
  let judged: ExportVerdict | undefined;
  let said = "";

  const tell = async (verdict: ExportVerdict): Promise<void> => {
    const words = `${verdict.reason}: ${verdict.message}`;
    if (verdict.status === "True") check.pass(verdict.message);
    else check.fail(words);
    if (words === said) return;
    const wasWrong = said !== "";
    said = words;
    const fields = { export: exportName, workspace: exportPath, reason: verdict.reason, detail: verdict.message };
    if (verdict.status === "True") {
      log.info("export is configured", fields);
      if (!wasWrong) return; // as it should be, and as it always was
    } else log.warn("export is not configured", fields);
    await provider
      .create(
        { type: { group: "", version: "v1", plural: "events" }, namespace: "default" },
        eventOf(verdict, clock.now()),
        { signal: end.signal, fieldManager: "tmc" },
      )
      .catch((error: unknown) => log.debug("event about the export cannot be written", { error }));
  };

  const look = async (): Promise<ExportVerdict | undefined> => {
    try {
      // Mostly nothing has changed, and what the schemas are called and who they are tells that for little.
      const [found, listed] = await Promise.all([
        readExport(provider, end.signal),
        provider.metadata.listAll<KubeObject>({ type: apiResourceSchemas }, { signal: end.signal }),
      ]);
      const now = JSON.stringify([
        found?.metadata.resourceVersion,
        listed.items.map(({ metadata }) => `${metadata.name} ${metadata.uid}`).toSorted(),
      ]);
      if (judged === undefined || now !== seen) judged = judgeExport(await readExportFacts(provider, end.signal));
      seen = now;
    } catch (error) {
      if (end.signal.aborted) return undefined;
      check.pass(`not known: ${error instanceof Error ? error.message : "unknown failure"}`);
      log.debug("export cannot be read", { export: exportName, workspace: exportPath, error });
      return undefined;
    }
    await tell(judged);
    return judged;
  };

  const run = async (): Promise<void> => {
    do await look();
    while (await delay(clock, everySeconds * 1000, end.signal));
  };

  return {
    start: () => void run(),
    look,
    stop: () => {
      end.abort();
      check.remove();
    },
  };
}

/** The same words at the same time are the same event: two processes that see it write one. */
function eventOf({ status, reason, message }: ExportVerdict, nowMs: number): object {
  const time = new Date(nowMs).toISOString().replace(/\.\d+Z$/, "Z");
  const mark = createHash("sha256")
    .update(`${time.slice(0, 16)} ${message}`)
    .digest("hex")
    .slice(0, 16);
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${exportName}.${mark}`, namespace: "default" },
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
