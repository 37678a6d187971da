import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { faultOf } from "@tmc/kube/errors.ts";
import { ControllerError } from "@tmc/kube/fault.ts";
import { isRecord } from "@tmc/kube/json.ts";
import type { KubeObject, ResourceType } from "@tmc/kube/kube-object.ts";
import type { Blocker } from "../sync/targets/decide.ts";

/** What may show that the hub itself runs workloads. */
export type HubControllerFacts = Readonly<{
  replicaSets: readonly Pick<KubeObject, "metadata">[];
  pods: readonly Pick<KubeObject, "metadata">[];
  /** The Lease of kube-controller-manager; undefined if there is none. */
  lease: KubeObject | undefined;
  nowMs: number;
}>;

/** The kinds that the workload controllers of Kubernetes run. */
const runByControllers: ReadonlySet<string> = new Set([
  "Deployment",
  "ReplicaSet",
  "StatefulSet",
  "DaemonSet",
  "Job",
  "CronJob",
]);

/** kube-controller-manager renews its Lease every two seconds; the rest allows for clocks that differ. */
const leaseLiveMs = 60_000;

const replicaSets: ResourceType = { group: "apps", version: "v1", plural: "replicasets" };
const pods: ResourceType = { group: "", version: "v1", plural: "pods" };
const leases: ResourceType = { group: "coordination.k8s.io", version: "v1", plural: "leases" };

/** Decides whether controllers of the hub run workloads there, and by what that shows; undefined if nothing shows it. */
export function decideHubControllers(facts: HubControllerFacts): string | undefined {
  for (const [kind, objects] of [["ReplicaSet", facts.replicaSets] as const, ["Pod", facts.pods] as const]) {
    for (const { metadata } of objects) {
      const owner = metadata.ownerReferences?.find((each) => each.controller === true);
      if (owner === undefined || !runByControllers.has(owner.kind)) continue;
      return `${owner.kind} ${owner.name} manages ${kind} ${metadata.namespace ?? ""}/${metadata.name ?? ""} there`;
    }
  }
  const { lease } = facts;
  const { renewTime } = isRecord(lease) && isRecord(lease.spec) ? lease.spec : {};
  const renewedMs = typeof renewTime === "string" ? Date.parse(renewTime) : Number.NaN;
  return Math.abs(facts.nowMs - renewedMs) < leaseLiveMs
    ? "kube-controller-manager renews its Lease kube-system/kube-controller-manager there"
    : undefined;
}

/** The error of a controller that does not start because the hub runs workloads itself. */
export function hubControllersError(evidence: string): ControllerError {
  return new ControllerError(
    "invalid",
    `--hub kubernetes: the cluster runs workloads itself (${evidence}), so each workload would run there too; ` +
      "use a control plane without workload controllers (docs/plain-hub.md), " +
      "or --hub-controllers=ignore if these controllers are turned off",
  );
}

/** Reads by what it shows that the hub runs workloads itself; undefined if nothing shows it. */
export async function readHubControllers(
  client: KubeClient,
  { clock, signal }: Readonly<{ clock: Clock; signal?: AbortSignal | undefined }>,
): Promise<string | undefined> {
  const page = async (type: ResourceType): Promise<readonly KubeObject[]> =>
    (await unlessDenied(client.metadata.list<KubeObject>({ type }, { limit: 50, signal })))?.items ?? [];
  const [foundSets, foundPods, lease] = await Promise.all([
    page(replicaSets),
    page(pods),
    unlessDenied(
      client.get<KubeObject>({ type: leases, namespace: "kube-system", name: "kube-controller-manager" }, { signal }),
    ),
  ]);
  return decideHubControllers({ replicaSets: foundSets, pods: foundPods, lease, nowMs: clock.now() });
}

/** A control plane need not serve these types, and TMC need not have access to them. */
async function unlessDenied<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    const fault = faultOf(error);
    if (fault === "not-found" || fault === "forbidden") return undefined;
    throw error;
  }
}

/** Watches for controllers of the hub that run workloads, and stops the sync of the types that they run. */
export interface HubControllersWatch {
  /** Why workloads of a kind are not written to clusters; undefined if they are. */
  blocker(kind: string): Blocker | undefined;
  stop(): void;
}

/** How often the hub is checked while the controller runs. */
const checkMs = 10_000;

/** Starts the watch. What it has found stays until a later check finds nothing. */
export function watchHubControllers({
  client,
  clock,
  onChange,
  onFailure,
}: Readonly<{
  client: KubeClient;
  clock: Clock;
  onChange: (evidence: string | undefined) => void;
  onFailure: (error: unknown) => void;
}>): HubControllersWatch {
  const stopping = new AbortController();
  let evidence: string | undefined;
  let cancel = (): void => {};
  const check = async (): Promise<void> => {
    try {
      const found = await readHubControllers(client, { clock, signal: stopping.signal });
      const hasChanged = (found === undefined) !== (evidence === undefined);
      evidence = found;
      if (hasChanged) onChange(evidence);
    } catch (error) {
      if (!stopping.signal.aborted) onFailure(error);
    }
    if (!stopping.signal.aborted) schedule();
  };
  const schedule = (): void => {
    cancel = clock.after(checkMs, () => void check());
  };
  schedule();
  return {
    blocker: (kind) =>
      evidence === undefined || !runByControllers.has(kind)
        ? undefined
        : { reason: "HubRunsWorkloads", message: `the hub runs workloads itself: ${evidence}` },
    stop: () => {
      stopping.abort();
      cancel();
    },
  };
}
