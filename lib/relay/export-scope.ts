import { exportName } from "../api/group.ts";
import { createExportCheck } from "../install/export-check.ts";
import { awaitAnswer } from "../upstream/await-workspace.ts";
import { formatExportAddress } from "../upstream/export/address.ts";
import { createExportHub, findExport } from "../upstream/export/hub.ts";
import { createExportRelay, type ExportRelay } from "./export-relay.ts";
import type { ExportOptions, Scope, ScopeOptions } from "./scope.ts";

/** Creates the scope of all workspaces that have bound an export. A health check reports the number of endpoints and tenants. */
export function createExportScope(options: ScopeOptions & Readonly<{ apiExport: ExportOptions }>): Scope {
  const { client: provider, apiExport, clock, random, log, health, signal } = options;
  const { address, openEndpoint } = apiExport;
  const exportText = formatExportAddress(address);
  const hub = createExportHub({
    provider,
    export: address,
    openEndpoint,
    clock,
    random,
    onRejected: (url, error) => log.warn("endpoint cannot be used", { endpoint: url, error }),
  });
  const cleanups: (() => void)[] = [];
  let relay: ExportRelay | undefined;

  return {
    client: hub.client,
    find: async () => {
      await awaitAnswer(provider, () => findExport(hub, address, signal), {
        clock,
        random,
        signal,
        onWait: (error, retryInMs) =>
          log.warn("upstream is unreachable", { export: exportText, retryInSeconds: retryInMs / 1000, error }),
      });
      return exportText;
    },
    logicalClusters: () => (relay?.tenants() ?? []).map((name) => ({ name, path: name })),
    pathOf: (watchScope) => watchScope,
    watches: () => [{ what: "APIExportEndpointSlice", scope: exportText }],
    createRelay: (parts) => {
      const created = createExportRelay({ ...parts, provider, export: address, hub });
      relay = created;
      const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
      cleanups.push(
        health.registerCallback("tenants", () => {
          const detail = `${count(created.endpoints().length, "endpoint")}, ${count(created.tenants().length, "tenant")}`;
          return { ok: true, detail };
        }),
      );
      // The check compares with TMC's own export; it cannot judge an export of another name.
      if (options.checksExport === true && address.name === exportName) {
        const check = createExportCheck({ client: provider, exportPath: address.path, clock, health, log });
        check.start();
        cleanups.push(check.stop);
      }
      return created;
    },
    isEngaged: (logicalCluster) => relay?.isEngaged(logicalCluster) === true,
    close: async () => {
      for (const end of cleanups.splice(0)) end();
      await hub.close();
    },
  };
}
