import type { ControllerRevision, StatefulSet } from "../kinds.ts";
import { podFromTemplate } from "../workloads/pod-from-template.ts";
import { claimName, decideStatefulSet, revisionLabel, revisionTemplate } from "../workloads/stateful-set.ts";
import { type ClusterController, type EventContent, keyOf, ownerKey, type World } from "../world.ts";
import { ownedOrAdopted, possibleOwners } from "./adopt.ts";
import { recordRevision } from "./revisions.ts";

const statefulSetEvent = (reason: string, message: string): EventContent => ({
  type: "Normal",
  reason,
  message,
  source: "statefulset-controller",
});

/** Keeps the pods of stateful sets, each with its own name and volumes, in order. */
export const statefulSetController: ClusterController = {
  name: "statefulset",
  watches: {
    statefulsets: (set) => [keyOf(set)],
    pods: (pod, world) => [...ownerKey(pod, "StatefulSet"), ...possibleOwners(world, "statefulsets", pod)],
  },
  reconcile({ namespace, name }, world) {
    const set = world.get("statefulsets", namespace, name);
    if (set === undefined) return undefined;
    const pods = ownedOrAdopted(world, "pods", set);
    const inUse = new Set([
      set.status?.currentRevision ?? "",
      ...pods.map((pod) => pod.metadata.labels?.[revisionLabel] ?? ""),
    ]);
    const { current, all } = recordRevision(world, set, "controller.kubernetes.io/hash", inUse);
    const facts = { set, updateRevision: current.metadata.name };
    const plan = decideStatefulSet({ ...facts, pods, now: world.now() });
    for (const { ordinal, revision } of plan.create) createPod(world, set, ordinal, revision, all);
    for (const pod of plan.remove) {
      world.remove("pods", pod);
      world.recordEvent(
        set,
        statefulSetEvent("SuccessfulDelete", `Delete Pod ${pod.metadata.name} in StatefulSet ${name} successful`),
      );
    }
    // Recounts the pods, so that the status includes those created and deleted above.
    const after = decideStatefulSet({ ...facts, pods: world.owned("pods", set.metadata.uid), now: world.now() });
    world.writeStatus("statefulsets", set, after.status);
    return plan.nextMs;
  },
};

function createPod(
  world: World,
  set: StatefulSet,
  ordinal: number,
  revision: string,
  revisions: readonly ControllerRevision[],
): void {
  const name = `${set.metadata.name}-${ordinal}`;
  const recorded = revisions.find((each) => each.metadata.name === revision);
  const template = (recorded === undefined ? undefined : revisionTemplate(recorded)) ?? set.spec.template;
  const claims = set.spec.volumeClaimTemplates ?? [];
  for (const claim of claims) {
    const claimed = claimName(set, claim.metadata.name ?? "", ordinal);
    if (world.get("persistentvolumeclaims", set.metadata.namespace ?? "", claimed) !== undefined) continue;
    world.create("persistentvolumeclaims", {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: {
        ...(claim.metadata.annotations === undefined ? {} : { annotations: { ...claim.metadata.annotations } }),
        name: claimed,
        ...(set.metadata.namespace === undefined ? {} : { namespace: set.metadata.namespace }),
        labels: { ...claim.metadata.labels, ...set.spec.selector.matchLabels },
      },
      spec: structuredClone(claim.spec),
    });
    world.recordEvent(
      set,
      statefulSetEvent(
        "SuccessfulCreate",
        `Create Claim ${claimed} Pod ${name} in StatefulSet ${set.metadata.name} success`,
      ),
    );
  }
  const claimed = new Set(claims.map((claim) => claim.metadata.name));
  const volumes = [
    ...claims.map((claim) => ({
      name: claim.metadata.name ?? "",
      persistentVolumeClaim: { claimName: claimName(set, claim.metadata.name ?? "", ordinal) },
    })),
    ...(template.spec.volumes ?? []).filter((volume) => !claimed.has(volume.name)),
  ];
  world.create(
    "pods",
    podFromTemplate(set, template, {
      name,
      labels: {
        [revisionLabel]: revision,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": String(ordinal),
      },
      spec: {
        hostname: name,
        ...(set.spec.serviceName === undefined ? {} : { subdomain: set.spec.serviceName }),
        ...(volumes.length === 0 ? {} : { volumes }),
      },
    }),
  );
  world.recordEvent(
    set,
    statefulSetEvent("SuccessfulCreate", `Create Pod ${name} in StatefulSet ${set.metadata.name} successful`),
  );
}
