import type { KubeClient } from "@tmc/kube/client.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { createManualClock, type ManualClock } from "@tmc/kube/manual-clock.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { exportWorkspace } from "../../../lib/api/group.ts";
import { createExportCheck, type ExportCheck } from "../../../lib/install/export-check.ts";
import { createHealthChecks, type HealthChecks } from "../../../lib/observe/health.ts";
import { createLog } from "../../../lib/observe/log.ts";
import { apiExports, apiResourceSchemas } from "../../../lib/upstream/kcp-types.ts";
import { clientOf } from "../../../lib/upstream/logical-cluster.ts";
import { startTenants, type Tenants } from "../upstream/tenants.ts";

let tenants: Tenants;
let provider: KubeClient;
let clock: ManualClock;
let health: HealthChecks;
let lines: Readonly<Record<string, unknown>>[];
let check: ExportCheck;

beforeEach(async () => {
  tenants = await startTenants([]);
  provider = clientOf(tenants.client, exportWorkspace);
  clock = createManualClock();
  health = createHealthChecks({ clock });
  lines = [];
  const log = createLog({ level: 2, write: (line) => lines.push(JSON.parse(line)), clock });
  check = createExportCheck({ client: tenants.client, exportPath: exportWorkspace, clock, health, log });
});
afterEach(async () => {
  check.stop();
  await tenants.stop();
});

const shown = () => health.report("ready").checks.map(({ name, ok, detail }) => ({ name, ok, detail }));
const events = async () =>
  (
    await provider.list<KubeObject & { reason: string; type: string }>({
      type: { group: "", version: "v1", plural: "events" },
    })
  ).items.map(({ type, reason }) => `${type} ${reason}`);
const firstSchema = async (): Promise<string> => {
  const { items } = await provider.list({ type: apiResourceSchemas });
  return items.find(({ metadata }) => metadata.name?.includes("workloadplacements"))?.metadata.name ?? "";
};

describe("export check", () => {
  it("reports a configured export in health and log without an Event", async () => {
    expect(shown()).toEqual([{ name: "TMCAPIExportConfigured", ok: true, detail: "not checked yet" }]);
    await check.checkNow();
    expect(shown()).toEqual([
      { name: "TMCAPIExportConfigured", ok: true, detail: "tmc.kcp.io has everything that this version needs" },
    ]);
    expect(lines.map(({ message }) => message)).toEqual(["export is configured"]);
    expect(await events()).toEqual([]);
  });

  it("reports a missing schema once in log and Event, and reports when it is back", async () => {
    const name = await firstSchema();
    const schema = await provider.get<KubeObject>({ type: apiResourceSchemas, name });
    await provider.delete({ type: apiResourceSchemas, name });
    await check.checkNow();
    await check.checkNow();
    expect(shown()).toMatchObject([{ ok: false, detail: `SchemaMissing: APIResourceSchema ${name} does not exist` }]);
    expect(lines.map(({ level, reason }) => [level, reason])).toEqual([["warn", "SchemaMissing"]]);
    expect(await events()).toEqual(["Warning SchemaMissing"]);

    await provider.create({ type: apiResourceSchemas }, { ...schema, metadata: { name } });
    await check.checkNow();
    expect(shown()).toMatchObject([{ ok: true }]);
    expect(await events()).toEqual(expect.arrayContaining(["Warning SchemaMissing", "Normal APIExportConfigured"]));
  });

  it("does not change a misconfigured export", async () => {
    await provider.patch(
      { type: apiExports, name: "tmc.kcp.io" },
      { type: "merge", body: { spec: { permissionClaims: [] } } },
    );
    const versions = async () =>
      (await provider.list({ type: apiExports })).items.map(({ metadata }) => metadata.resourceVersion);
    const before = await versions();
    expect(await check.checkNow()).toMatchObject({ status: "False", reason: "APIExportWrong" });
    expect(await versions()).toEqual(before);
  });

  it("reports an unknown state if the export cannot be read", async () => {
    check.stop();
    const elsewhere = createExportCheck({
      client: tenants.client,
      exportPath: "root:nowhere",
      clock,
      health,
      log: createLog({ level: 0, write: () => {}, clock }),
    });
    expect(await elsewhere.checkNow()).toBeUndefined();
    expect(shown()).toMatchObject([{ ok: true, detail: expect.stringMatching(/^unknown: /) }]);
    elsewhere.stop();
    expect(shown()).toEqual([]);
  });

  it("checks again after five minutes", async () => {
    check.start();
    await expect.poll(() => clock.pending).toBe(1);
    expect(clock.waits).toEqual([300_000]);
    await provider.delete({ type: apiResourceSchemas, name: await firstSchema() });
    clock.advance(300_000);
    await expect.poll(() => shown()).toMatchObject([{ ok: false }]);
  });
});
