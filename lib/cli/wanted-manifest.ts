import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadPlacement } from "../api/workload-placement.ts";
import { decideIntent } from "../sync/decide.ts";
import { referencesOf } from "../sync/dependencies/references.ts";
import { type DesiredManifest, decideManifests } from "../sync/desired/desired.ts";
import type { Locator } from "../sync/ownership/namespace-map.ts";
import type { CopyRecord } from "../sync/sync-objects.ts";
import { targetClusterOf } from "../sync/targets/sync-cluster.ts";
import { clusterOf } from "../upstream/logical-cluster.ts";
import { byName, type ReadWorkload } from "./workload-read.ts";

/** What one cluster is to have of a workload. */
export type Wanted = Readonly<{
  wish: DesiredManifest;
  locator: Locator;
  placement: WorkloadPlacement;
  /** What the record says of that cluster. */
  before: CopyRecord | undefined;
}>;

export type WantedFacts = Readonly<{
  read: ReadWorkload;
  cluster: string;
  /** By which name the controller tells its hub from others. */
  hubId: string;
  isAutoscaled: boolean;
}>;

/** Decides what one cluster is to have, by the rules that the controller follows. Fails in one line when it is to have nothing. */
export function wantedOn({ read, cluster, hubId, isAutoscaled }: WantedFacts): Wanted {
  const { workload, record, governed, clusters, namespace, named } = read;
  const refuse = (why: string): ControllerError =>
    new ControllerError("invalid", `${named.name} on ${cluster}: ${why}`);
  if (!byName(clusters).has(cluster)) {
    const names = [...byName(clusters).keys()].join(", ");
    throw new ControllerError("invalid", `cluster "${cluster}": is not registered; there are ${names || "none"}`);
  }
  if (workload === undefined) throw refuse("the workload is not in its workspace");
  if (workload.metadata.deletionTimestamp !== undefined) throw refuse("the workload is being deleted");
  const placement = governed?.placement;
  const references = placement === undefined ? [] : referencesOf(workload);
  const { targets } = decideIntent({ workload, record, placement, references });
  if (placement === undefined) throw refuse("no placement selects the workload");
  if (!targets.includes(cluster)) {
    const where = targets.length === 0 ? "no cluster" : targets.join(", ");
    throw refuse(`it does not belong there; placement ${placement.metadata.name} has it on ${where}`);
  }
  const all = new Map(clusters.map((each) => [each.metadata.name ?? "", targetClusterOf(each)]));
  const before = new Map((record?.status?.clusters ?? []).map((entry) => [entry.name, entry]));
  const locator: Locator = { hub: hubId, logicalCluster: clusterOf(workload), namespace };
  const { wishes } = decideManifests({
    workload,
    locator,
    spec: placement.spec,
    targets: targets.map((name) => all.get(name)).filter((each) => each !== undefined),
    before,
    ready: new Map([...before].map(([name, { readyReplicas: ready }]) => [name, ready ?? 0])),
    isAutoscaled,
  });
  const wish = wishes.get(cluster);
  if (wish === undefined) throw refuse("there is no such registration");
  if ("reason" in wish) throw refuse(`${wish.reason}: ${wish.message}`);
  return { wish, locator, placement, before: before.get(cluster) };
}
