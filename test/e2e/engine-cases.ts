import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import type { WorkloadPlacement } from "../../lib/api/workload-placement.ts";
import { eventually } from "../support/eventually.ts";
import { clusterNames, type E2eContext } from "./environment.ts";
import { decisionOn, isDecided, readyOf, selectedClusters, type Tenant } from "./tenant.ts";

/** A placement that may run in either region. */
export const bothRegions = {
  locationSelector: { matchExpressions: [{ key: "region", operator: "In", values: ["us-east", "us-west"] }] },
};

/**
 * The promises that the controller keeps in whatever form it runs. They build on one another: a case finds what the
 * one before it has left.
 */
export function engineCases(stage: () => E2eContext, waitMs: number): void {
  it("sets Ready on clusters with and without credentials", async () => {
    const { world, tenant, form } = stage();
    await form.running();
    await tenant.register("us-west", { location: "us-west-2" }, { region: "us-west" });
    await tenant.place("web", { locationSelector: { matchLabels: { region: "us-west" } } });
    await tenant.register("us-east", { location: "us-east-1" }, { region: "us-east" });
    await tenant.register("unknown", { location: "nowhere" });
    // An address of this machine that no operator has allowed, whatever form the controller has.
    const elsewhere = (await readFile(world.clusterKubeconfigs["us-east"], "utf8")).replaceAll(
      "127.0.0.1",
      "127.0.0.2",
    );
    await tenant.offerSecret("kubeconfig", elsewhere);
    const secretRef = { namespace: "default", name: "kubeconfig" };
    await tenant.register("inside", { location: "nowhere", credentials: { secretRef } });

    for (const name of clusterNames) {
      const { status, metadata } = await tenant.untilCluster(name, "True ClusterReady");
      expect(status).toMatchObject({
        kubernetesVersion: expect.stringMatching(/^v1\.\d+/),
        nodes: { total: expect.any(Number) },
        lastHeartbeat: expect.stringMatching(/^20.*Z$/),
        observedGeneration: metadata.generation,
      });
      expect(status?.nodes?.total).toBeGreaterThan(0);
    }
    const unknown = await tenant.untilCluster("unknown", "False ClusterNotConfigured");
    expect(unknown.status?.conditions).toMatchObject([{ severity: "Error", observedGeneration: 1 }]);
    expect(unknown.status).not.toHaveProperty("lastHeartbeat");
    // A tenant's own kubeconfig is read, and must not lead the controller to servers beside it.
    const inside = await tenant.untilCluster("inside", "False EndpointNotAllowed");
    expect(inside.status?.conditions?.[0]?.message).toContain("private network");
    await tenant.untilChosen("web", ["us-west"]);
  });

  it("selects clusters by each strategy and explains every cluster in status", async () => {
    const { tenant, form } = stage();
    await form.running();
    await tenant.place("dealt", bothRegions);
    await tenant.place("everywhere", { strategy: "Spread", ...bothRegions });
    const term = { matchLabels: { region: "us-east" } };
    const affinity = { clusterAffinity: { preferred: [{ weight: 50, term }] } };
    await tenant.place("drawn", { strategy: "Affinity", affinity });

    const [dealt] = await tenant.untilDecided(["dealt"]);
    expect(dealt?.status?.selectedClusters).toHaveLength(1);
    const everywhere = await tenant.untilChosen("everywhere", ["us-east", "us-west"]);
    expect(readyOf(everywhere)).toBe("True PlacementReady");
    expect(decisionOn(everywhere, "unknown")).toMatchObject({ selected: false, reason: "SelectorMismatch" });
    const drawn = await tenant.untilChosen("drawn", ["us-east"]);
    expect(decisionOn(drawn, "us-east")).toMatchObject({ selected: true, reason: "Selected" });
    expect(decisionOn(drawn, "us-west")).toMatchObject({ selected: false, reason: "NotSelected" });
    expect(decisionOn(drawn, "unknown")).toMatchObject({ selected: false, reason: "NotReady" });
    expect(decisionOn(drawn, "us-east")?.score).toBeGreaterThan(decisionOn(drawn, "us-west")?.score ?? Infinity);
  });

  it("reports a label that no cluster has, and selects the cluster that gets it", async () => {
    const { tenant, form } = stage();
    await form.running();
    await tenant.place("golden", { locationSelector: { matchLabels: { tier: "gold" } } });
    const missed = await tenant.untilChosen("golden", []);
    expect(readyOf(missed)).toBe("False NoSuitableClusters");
    expect(missed.status?.conditions?.[0]?.message).toContain("tier");
    for (const { metadata } of await tenant.clusters()) {
      expect(decisionOn(missed, metadata.name ?? "")).toMatchObject({ reason: "SelectorMismatch" });
    }
    await tenant.label("us-east", { tier: "gold" });
    expect(readyOf(await tenant.untilChosen("golden", ["us-east"]))).toBe("True PlacementReady");
  });

  it("moves only what must move from a failed cluster, and nothing back when the cluster recovers", async () => {
    const { world, tenant, form } = stage();
    await form.running();
    const preferred = { preferredClusters: ["us-west"] };
    const impatient = {
      key: "tmc.kcp.io/not-ready",
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: 1,
    };
    await tenant.place("patient", preferred);
    await tenant.place("impatient", { ...preferred, tolerations: [impatient] });
    await tenant.untilChosen("patient", ["us-west"]);
    await tenant.untilChosen("impatient", ["us-west"]);
    const before = await chosenOf(tenant);
    const endOfStates = await tenant.follow("cluster");

    await world.parts.clusters["us-west"].kill();
    await tenant.untilCluster("us-west", "False ClusterUnhealthy");
    const moved = await tenant.untilChosen("impatient", ["us-east"]);
    expect(decisionOn(moved, "us-west")).toMatchObject({ selected: false, reason: "NotReady" });
    await tenant.place("late", preferred);
    await tenant.untilChosen("late", ["us-east"]);
    await eventually(async () => {
      const reason = decisionOn(await tenant.placement("patient"), "us-west")?.reason;
      return reason === "KeptTolerated" ? undefined : `patient is on us-west for the reason ${reason}`;
    }, waitMs);

    await world.parts.clusters["us-west"].revive();
    await tenant.untilCluster("us-west", "True ClusterReady");
    await eventually(async () => {
      const reason = decisionOn(await tenant.placement("patient"), "us-west")?.reason;
      return reason === "Selected" ? undefined : `patient is on us-west for the reason ${reason}`;
    }, waitMs);
    expect(await chosenOf(tenant)).toEqual({ ...before, impatient: "us-east", late: "us-east" });

    const states = (await endOfStates()).filter(({ metadata }) => metadata.name === "us-west");
    const steps = states.map((state) => {
      const { consecutiveFailures = 0, consecutiveSuccesses = 0 } = state.status ?? {};
      return `${readyOf(state)} ${consecutiveFailures}/${consecutiveSuccesses}`;
    });
    const lost = steps.findIndex((step) => step.startsWith("False"));
    expect(distinct(steps.slice(0, lost + 1)).filter((step) => step !== "True ClusterReady 0/0")).toEqual([
      "True ClusterReady 1/0",
      "True ClusterReady 2/0",
      "False ClusterUnhealthy 3/0",
    ]);
    const back = steps.findIndex((step, at) => at > lost && step.startsWith("True"));
    expect(steps[back - 1]).toBe("False ClusterUnhealthy 0/1");
    expect(steps.slice(back)).not.toContainEqual(expect.stringMatching(/^False/));
  });

  it("marks a cluster NotReady that reports itself unready, and Ready once it recovers", async () => {
    const { world, tenant, form } = stage();
    await form.running();
    await tenant.remove("placement", "impatient");
    const before = await chosenOf(tenant);
    await world.parts.clusters["us-east"].loseStore();
    const { status } = await tenant.untilCluster("us-east", "False ClusterUnhealthy");
    expect(status?.conditions?.[0]?.message).not.toMatch(/\n/);
    await world.parts.clusters["us-east"].regainStore();
    await tenant.untilCluster("us-east", "True ClusterReady");
    expect(await chosenOf(tenant)).toEqual(before);
  });

  it("decides everything exactly once after the controller is killed while reconciling", async () => {
    const { tenant, form } = stage();
    await form.running();
    await Promise.all(
      (await tenant.placements()).map(({ metadata }) => tenant.remove("placement", metadata.name ?? "")),
    );
    await eventually(
      async () => ((await tenant.placements()).length === 0 ? undefined : "placements are left"),
      waitMs,
    );
    const names = Array.from({ length: 50 }, (_, at) => `shop-${at}`);
    const created: WorkloadPlacement[] = [];
    for (const name of names) {
      created.push(await tenant.place(name, bothRegions));
      if (created.length === 20) {
        await tenant.untilDecided(names.slice(0, 5));
        await form.kill();
      }
    }
    const half = await tenant.placements();
    expect(half.filter(isDecided).length).toBeLessThan(50);
    const decided = half.filter(isDecided);
    expect(decided.length).toBeGreaterThanOrEqual(5);

    await form.running();
    const all = await tenant.untilDecided(names);
    expect(await tenant.placements()).toHaveLength(50);
    expect(uids(all)).toEqual(uids(created));
    for (const { metadata, status } of decided) {
      const now = all.find((each) => each.metadata.name === metadata.name);
      expect({ of: now?.metadata.name, at: now?.metadata.resourceVersion, status: now?.status }).toEqual({
        of: metadata.name,
        at: metadata.resourceVersion,
        status,
      });
    }
    const shares = clusterNames.map((name) => all.filter((each) => selectedClusters(each) === name).length);
    expect(shares.reduce((sum, share) => sum + share, 0)).toBe(50);
    expect(Math.abs((shares[0] ?? 0) - 25), shares.join(" to ")).toBeLessThanOrEqual(form.unevenBy);
  });

  it("recovers without help after kcp is killed while the controller reconciles", async () => {
    const { world, tenant, form } = stage();
    await form.running();
    const before = await tenant.placements();
    const names = Array.from({ length: 20 }, (_, at) => `after-${at}`);
    for (const name of names.slice(0, 10)) await tenant.place(name, bothRegions);
    await world.parts.kcp.kill();
    await eventually(async () => ((await form.isReady()) ? "it is ready while kcp is away" : undefined), waitMs);
    await world.parts.kcp.revive();
    await eventually(async () => {
      const answer = await tenant.placements().catch((error: unknown) => error);
      return Array.isArray(answer) ? undefined : `kcp does not answer yet: ${String(answer)}`;
    }, waitMs);
    for (const name of names.slice(10)) await tenant.place(name, bothRegions);

    const all = await tenant.untilDecided(names);
    for (const placement of all) expect(placement.status?.selectedClusters).toHaveLength(1);
    await eventually(async () => ((await form.isReady()) ? undefined : "it is not ready though kcp is back"), waitMs);
    const now = await tenant.placements();
    expect(versions(now.filter(({ metadata }) => !names.includes(metadata.name ?? "")))).toEqual(versions(before));
    for (const name of clusterNames) await tenant.untilCluster(name, "True ClusterReady");
  });
}

async function chosenOf(tenant: Tenant): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(
    (await tenant.placements()).map((each) => [each.metadata.name ?? "", selectedClusters(each)]),
  );
}

/** Each once, in the order in which they came. */
export const distinct = <T>(list: readonly T[]): T[] => [...new Set(list)];

function uids(list: readonly WorkloadPlacement[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(list.map(({ metadata }) => [metadata.name ?? "", metadata.uid]));
}

/** The versions of placements, by name. */
export function versions(list: readonly WorkloadPlacement[]): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(list.map(({ metadata }) => [metadata.name ?? "", metadata.resourceVersion]));
}
