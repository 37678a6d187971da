import { exportName } from "../api/group.ts";
import { createExportCheck } from "../install/export-check.ts";
import { awaitAnswer } from "../upstream/await-workspace.ts";
import { formatExportAddress } from "../upstream/export/address.ts";
import { createExportHub, findExport } from "../upstream/export/hub.ts";
import { createExportRelay, type ExportRelay } from "./export-relay.ts";
import type { ExportOptions, Territory, TerritoryOptions } from "./scope.ts";

/** Creates the territory of all workspaces that have bound an export. Its health says how many endpoints and tenants there are. */
export function createExportTerritory(options: TerritoryOptions & Readonly<{ apiExport: ExportOptions }>): Territory {
  const { client: provider, apiExport, clock, random, log, health, signal } = options;
  const { address, openEndpoint } = apiExport;
  const words = formatExportAddress(address);
  const hub = createExportHub({
    provider,
    export: address,
    openEndpoint,
    clock,
    random,
    onRefused: (url, error) => log.warn("endpoint cannot be used", { endpoint: url, error }),
  });
  const ends: (() => void)[] = [];
  let relay: ExportRelay | undefined;

  return {
    client: hub.client,
    find: async () => {
      await awaitAnswer(provider, () => findExport(hub, address, signal), {
        clock,
        random,
        signal,
        onWait: (error, retryInMs) =>
          log.warn("hub cannot be reached", { export: words, retryInSeconds: retryInMs / 1000, error }),
      });
      return words;
    },
    clusters: () => (relay?.tenants() ?? []).map((name) => ({ name, path: name })),
    pathOf: (place) => place,
    watches: () => [{ what: "APIExportEndpointSlice", place: words }],
    createRelay: (parts) => {
      const created = createExportRelay({ ...parts, provider, export: address, hub });
      relay = created;
      const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`;
      ends.push(
        health.ask("tenants", () => {
          const detail = `${count(created.endpoints().length, "endpoint")}, ${count(created.tenants().length, "tenant")}`;
          return { ok: true, detail };
        }),
      );
      // It knows what our own export has to be, and no other.
      if (options.checksExport === true && address.name === exportName) {
        const check = createExportCheck({ client: provider, exportPath: address.path, clock, health, log });
        check.start();
        ends.push(check.stop);
      }
      return created;
    },
    isEngaged: (logicalCluster) => relay?.isEngaged(logicalCluster) === true,
    close: async () => {
      for (const end of ends.splice(0)) end();
      await hub.close();
    },
  };
}
