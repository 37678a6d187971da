import { beforeAll, describe, expect, test } from "vitest";
import { formatKey } from "../../lib/model/key.ts";
import { requeueAfter } from "../../lib/model/work-item.ts";
import { isExportRequest, logicalClusterOfPath } from "./export-requests.ts";
import { placing, syncing } from "./kill-at-every-write.ts";
import type { Mode } from "./mode.ts";
import type { Sabotage } from "./sabotage.ts";
import type { Scenario } from "./scenario.ts";
import { type Servers, startServers } from "./servers.ts";
import { simulate } from "./simulate.ts";

const scenarioIn = (mode: Mode, scenario: Scenario = placing): Scenario => ({
  ...scenario,
  mode,
  throughExport: mode === "export",
  restMs: 120_000,
});

/** Three clusters and one workload. */
const few: Scenario = { ...syncing, steps: syncing.steps.slice(0, 7) };

let servers: Servers;
beforeAll(async () => {
  servers = await startServers();
});

test.for(["export", "shards", "functions"] as const)(
  "an unmodified product violates no law in the mode %s",
  { timeout: 120_000 },
  async (mode) => {
    const { violations } = await simulate(1, { servers, scenario: scenarioIn(mode) });
    expect(violations).toEqual([]);
  },
);

const cases: Record<string, { mode: Mode; law: number; sabotage: Sabotage; scenario?: Scenario }> = {
  "two controllers that both have all registrations": {
    mode: "shards",
    law: 2,
    sabotage: { shard: { id: "all", shards: ["all"] } },
  },
  "messages of placements that get lost for good": {
    mode: "functions",
    law: 1,
    sabotage: { keys: (items) => items.filter(({ key }) => key.kind !== "WorkloadPlacement") },
  },
  "a dead letter without a cause": {
    mode: "functions",
    law: 0,
    sabotage: {
      afterWork: async ({ key }) => {
        if (key.name === "web") throw new TypeError("a bug");
      },
    },
  },
  "a workload that is requeued without end": {
    mode: "functions",
    law: 2,
    scenario: few,
    sabotage: { next: ({ key }, decided) => (key.kind === "Workload" ? requeueAfter(50) : decided) },
  },
};

test("a requeue from before the rest may be delivered at rest", { timeout: 120_000 }, async () => {
  const requeued = new Set<string>();
  const sabotage: Sabotage = {
    next: ({ key }, decided) => {
      const id = formatKey(key);
      if (key.kind !== "Workload" || requeued.has(id)) return decided;
      requeued.add(id);
      return requeueAfter(400);
    },
  };
  const { violations } = await simulate(1, { servers, sabotage, scenario: scenarioIn("functions", few) });
  expect(violations).toEqual([]);
});

test.for(Object.entries(cases))(
  "law against %s is enforced",
  { timeout: 120_000 },
  async ([, { mode, law, sabotage, scenario }]) => {
    const { violations } = await simulate(1, { servers, sabotage, scenario: scenarioIn(mode, scenario) });
    expect(new Set(violations.map((violation) => violation.law))).toContain(law);
  },
);

describe("requests of a controller for all tenants of an export", () => {
  const key = { logicalCluster: "abc", kind: "WorkloadPlacement", name: "web" } as const;
  const virtual = "/services/apiexport/xyz/tmc.kcp.io/clusters";
  const placements = "apis/tmc.kcp.io/v1alpha1/workloadplacements";

  test("the tenant of a request is found in both kinds of paths", () => {
    expect(logicalClusterOfPath(`/clusters/abc/${placements}`)).toBe("abc");
    expect(logicalClusterOfPath(`${virtual}/abc/${placements}`)).toBe("abc");
    expect(logicalClusterOfPath(`${virtual}/*/${placements}`)).toBe("*");
    expect(logicalClusterOfPath("/version")).toBe("");
  });

  test.each([
    ["GET", `${virtual}/*/${placements}?watch=true`, undefined, true],
    ["GET", `${virtual}/*/${placements}`, key, false],
    ["GET", `${virtual}/*/apis/apis.kcp.io/v1alpha2/apibindings?limit=1`, key, true],
    ["PATCH", `${virtual}/*/${placements}/web`, undefined, false],
    ["GET", `${virtual}/abc/${placements}/web`, key, false],
    ["GET", "/clusters/root:tmc/apis/apis.kcp.io/v1alpha1/apiexportendpointslices", key, true],
    ["GET", "/clusters/root:tmc/apis/apis.kcp.io/v1alpha2/apiexports/tmc.kcp.io", undefined, true],
    ["GET", "/clusters/root:tmc/apis/apis.kcp.io/v1alpha2/apiexports/tmc.kcp.io", key, false],
    ["PATCH", "/clusters/root:tmc/apis/apis.kcp.io/v1alpha2/apiexports/tmc.kcp.io", undefined, false],
    ["POST", "/clusters/root:tmc/api/v1/namespaces/default/events", undefined, true],
    ["POST", "/clusters/root:tmc/api/v1/namespaces/default/secrets", undefined, false],
  ] as const)("%s %s for %j is about no single tenant: %s", (method, path, of, expected) => {
    expect(isExportRequest({ method, path }, of)).toBe(expected);
  });
});
