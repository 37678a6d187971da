import { describe, expect, it } from "vitest";
import type { WorkloadSync } from "../../../lib/api/workload-sync.ts";
import { confirmAnnotation, confirmation, heldIn, withdrawal } from "../../../lib/cli/held.ts";
import { parseWorkloadWords } from "../../../lib/cli/workload-words.ts";

const at = "2026-01-01T00:00:00Z";

function aRecord(name: string, held: readonly string[], since: string | undefined = at): WorkloadSync {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadSync",
    metadata: { name: `deployments-${name}-x`, namespace: "shop" },
    spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name } },
    status: {
      clusters: [
        ...held.map((cluster) => ({ name: cluster, state: "Held" as const, message: `why ${cluster}` })),
        { name: "south", state: "Ready" },
      ],
      conditions: [
        {
          type: "DeletionsHeld",
          status: held.length > 0 ? "True" : "False",
          reason: "R",
          message: "",
          lastTransitionTime: since,
        },
      ],
    },
  };
}

describe("what is held", () => {
  const records = [aRecord("web", ["east", "west"]), aRecord("api", ["east"]), aRecord("fine", [])];
  const shown = (filter = {}) =>
    heldIn(records, filter).map(({ title, clusters }) => `${title} ${clusters.map(({ hold }) => hold).join()}`);

  it("is listed by name, with the hold that a confirmation would name", () => {
    expect(shown()).toEqual([`deployment.apps/api east@${at}`, `deployment.apps/web east@${at},west@${at}`]);
  });
  it("can be asked for by workload and by cluster", () => {
    expect(shown({ clusters: ["west"] })).toEqual([`deployment.apps/web west@${at}`]);
    expect(shown({ workloads: [parseWorkloadWords("deploy/api")] })).toEqual([`deployment.apps/api east@${at}`]);
    expect(shown({ workloads: [parseWorkloadWords("sts/api")] })).toEqual([]);
  });
});

describe("a confirmation", () => {
  const [web] = heldIn([aRecord("web", ["east", "west"])]);
  const [west] = heldIn([aRecord("web", ["east", "west"])], { clusters: ["west"] });
  if (web === undefined || west === undefined) throw new Error("nothing is held");
  const said = (value: string) => ({ [confirmAnnotation]: value });

  it("names every hold that it is given for", () => {
    expect(confirmation(web, undefined)).toBe(`east@${at},west@${at}`);
  });
  it("keeps what was confirmed before and still lasts, and drops what is over", () => {
    expect(confirmation(west, said(`east@${at},east@2025-01-01T00:00:00Z,north`))).toBe(`east@${at},west@${at}`);
  });
  it("is taken back for what has gone, and for nothing else", () => {
    expect(withdrawal(west, said(`east@${at},west@${at}`))).toBe(`east@${at}`);
    expect(withdrawal(web, said(`east@${at},west@${at}`))).toBeNull();
    expect(withdrawal(web, undefined)).toBeNull();
  });
});
