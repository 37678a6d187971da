import { ControllerError } from "@tmc/kube/fault.ts";
import type { WorkloadPlacement } from "../../api/workload-placement.ts";
import { decideIntent } from "../../sync/decide.ts";
import { referencesOf } from "../../sync/dependencies/references.ts";
import { type DesiredManifest, decideManifests } from "../../sync/desired/desired.ts";
import type { Locator } from "../../sync/ownership/namespace-map.ts";
import type { CopyRecord, Workload } from "../../sync/sync-objects.ts";
import { targetClusterOf } from "../../sync/targets/target-cluster.ts";
import { logicalClusterIn } from "../../upstream/logical-cluster.ts";
import { byName, type WorkloadRead } from "./workload-read.ts";

/** The desired manifest of a workload on one cluster. */
export type DesiredOnCluster = Readonly<{
  manifest: DesiredManifest;
  locator: Locator;
  placement: WorkloadPlacement;
  /** The entry of the cluster in the sync record. */
  lastCopy: CopyRecord | undefined;
}>;

export type DesiredInput = Readonly<{
  read: WorkloadRead;
  targetCluster: string;
  /** The id of the hub, which distinguishes the copies of several hubs on one cluster. */
  hubId: string;
  isAutoscaled: boolean;
}>;

/** Decides the manifest for one cluster with the rules of the controller. Throws when the workload is not placed on the cluster. */
export function desiredOn({ read, targetCluster, hubId, isAutoscaled }: DesiredInput): DesiredOnCluster {
  const { syncRecord, registrations, namespace, named } = read;
  if (!byName(registrations).has(targetCluster)) {
    const names = [...byName(registrations).keys()].join(", ");
    throw new ControllerError(
      "invalid",
      `cluster "${targetCluster}": not registered; registered clusters: ${names || "none"}`,
    );
  }
  const title = `${named.name} on ${targetCluster}`;
  const failure = (reason: string): ControllerError => new ControllerError("invalid", `${title}: ${reason}`);
  const { workload, placement, targets } = placed(read, title);
  if (!targets.includes(targetCluster)) {
    const clusters = targets.length === 0 ? "no cluster" : targets.join(", ");
    throw failure(`not placed on this cluster; placement ${placement.metadata.name} selects ${clusters}`);
  }
  const all = new Map(registrations.map((each) => [each.metadata.name ?? "", targetClusterOf(each)]));
  const previousCopies = new Map((syncRecord?.status?.clusters ?? []).map((entry) => [entry.name, entry]));
  const locator: Locator = { hub: hubId, logicalCluster: logicalClusterIn(workload), namespace };
  const { manifests } = decideManifests({
    workload,
    locator,
    spec: placement.spec,
    targets: targets.map((name) => all.get(name)).filter((each) => each !== undefined),
    previousCopies,
    readyReplicas: new Map([...previousCopies].map(([name, { readyReplicas }]) => [name, readyReplicas ?? 0])),
    isAutoscaled,
  });
  const manifest = manifests.get(targetCluster);
  if (manifest === undefined) throw failure("no such registration");
  if ("reason" in manifest) throw failure(`${manifest.reason}: ${manifest.message}`);
  return { manifest, locator, placement, lastCopy: previousCopies.get(targetCluster) };
}

/** Returns the clusters that a workload is placed on. Throws when there are none. */
export function placedClusters(read: WorkloadRead): readonly string[] {
  const { placement, targets } = placed(read, read.named.name);
  if (targets.length > 0) return targets;
  throw new ControllerError("invalid", `${read.named.name}: placement ${placement.metadata.name} selects no cluster`);
}

function placed(
  { workload, syncRecord, governing }: WorkloadRead,
  title: string,
): Readonly<{ workload: Workload; placement: WorkloadPlacement; targets: readonly string[] }> {
  const failure = (reason: string): ControllerError => new ControllerError("invalid", `${title}: ${reason}`);
  if (workload === undefined) throw failure("the workload does not exist in the workspace");
  if (workload.metadata.deletionTimestamp !== undefined) throw failure("the workload is being deleted");
  const placement = governing?.placement;
  if (placement === undefined) throw failure("no placement selects the workload");
  const { targets } = decideIntent({ workload, record: syncRecord, placement, references: referencesOf(workload) });
  return { workload, placement, targets };
}
