import { describe, expect, it } from "vitest";
import type { WorkloadSync } from "../../../../lib/api/workload-sync.ts";
import {
  confirmAnnotation,
  confirmationValue,
  findHeldCopies,
  heldRows,
  withdrawnValue,
} from "../../../../lib/cli/workload/held-copies.ts";
import { parseWorkloadArgument } from "../../../../lib/cli/workload/workload-argument.ts";

const at = "2026-01-01T00:00:00Z";

function aRecord(name: string, held: readonly string[], since: string | undefined = at): WorkloadSync {
  return {
    apiVersion: "tmc.kcp.io/v1alpha1",
    kind: "WorkloadSync",
    metadata: { name: `deployments-${name}-x`, namespace: "shop" },
    spec: { workload: { apiVersion: "apps/v1", kind: "Deployment", name } },
    status: {
      clusters: [
        ...held.map((cluster) => ({ name: cluster, state: "Held" as const, message: `reason ${cluster}` })),
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

describe("held copies", () => {
  const records = [aRecord("web", ["east", "west"]), aRecord("api", ["east"]), aRecord("fine", [])];
  const shown = (filter = {}) =>
    findHeldCopies(records, filter).map(({ title, clusters }) => `${title} ${clusters.map(({ hold }) => hold).join()}`);

  it("findHeldCopies lists held copies by name, with the identifiers of their holds", () => {
    expect(shown()).toEqual([`deployment.apps/api east@${at}`, `deployment.apps/web east@${at},west@${at}`]);
  });
  it("findHeldCopies filters by workload and by cluster", () => {
    expect(shown({ clusters: ["west"] })).toEqual([`deployment.apps/web west@${at}`]);
    expect(shown({ workloads: [parseWorkloadArgument("deploy/api")] })).toEqual([`deployment.apps/api east@${at}`]);
    expect(shown({ workloads: [parseWorkloadArgument("sts/api")] })).toEqual([]);
  });
});

describe("confirmation of held copies", () => {
  const [web] = findHeldCopies([aRecord("web", ["east", "west"])]);
  const [west] = findHeldCopies([aRecord("web", ["east", "west"])], { clusters: ["west"] });
  if (web === undefined || west === undefined) throw new Error("no copies are held");
  const annotated = (value: string) => ({ [confirmAnnotation]: value });

  it("confirmationValue contains every confirmed hold", () => {
    expect(confirmationValue(web, undefined)).toBe(`east@${at},west@${at}`);
  });
  it("confirmationValue keeps earlier confirmations of current holds, and drops those of past holds", () => {
    expect(confirmationValue(west, annotated(`east@${at},east@2025-01-01T00:00:00Z,north`))).toBe(
      `east@${at},west@${at}`,
    );
  });
  it("withdrawnValue removes only the holds of deleted copies", () => {
    expect(withdrawnValue(west, annotated(`east@${at},west@${at}`))).toBe(`east@${at}`);
    expect(withdrawnValue(web, annotated(`east@${at},west@${at}`))).toBeNull();
    expect(withdrawnValue(web, undefined)).toBeNull();
  });

  it("are one row if many are held on a cluster for the same reason", () => {
    const many = ["a", "b", "c", "d", "e"].map((name) => aRecord(name, name === "e" ? ["east", "west"] : ["east"]));
    expect(heldRows(findHeldCopies(many))).toEqual([
      ["shop", "5 copies: deployment.apps/a, deployment.apps/b, deployment.apps/c and 2 more", "east", "reason east"],
      ["shop", "deployment.apps/e", "west", "reason west"],
    ]);
    const elsewhere = { ...aRecord("f", ["east"]), metadata: { name: "f", namespace: "other" } };
    expect(heldRows(findHeldCopies([...many, elsewhere])).map(([namespace]) => namespace)).toEqual([
      "2 namespaces",
      "shop",
    ]);
    expect(heldRows(findHeldCopies(many.slice(0, 3)))).toHaveLength(3);
  });
});
