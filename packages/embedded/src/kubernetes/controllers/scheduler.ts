import type { Behavior } from "../behavior.ts";
import { conditionOfType, isPodFinished } from "../conditions.ts";
import type { ObjectCondition, Pod } from "../kinds.ts";
import { formatTime } from "../kinds.ts";
import { schedule } from "../scheduling/schedule.ts";
import { createUsage } from "../scheduling/usage.ts";
import { type ClusterController, keyOf, type World } from "../world.ts";

/** Creates the scheduler: it binds pods to nodes or reports why none fits. */
export function createScheduler(behavior: Behavior): ClusterController {
  const usage = createUsage();
  const unscheduled = new Set<string>();
  const isPending = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" && pod.metadata.deletionTimestamp === undefined && !isPodFinished(pod);

  return {
    name: "scheduler",
    watches: {
      pods: (pod, _, change) => {
        const isDeleted = change === "DELETED";
        usage.observe(pod, isDeleted);
        if (isDeleted) unscheduled.delete(keyOf(pod));
        if (!isDeleted && isPending(pod)) return [keyOf(pod)];
        // Capacity was freed, so pods that did not fit may fit now.
        return isDeleted || isPodFinished(pod) ? unscheduled : [];
      },
      nodes: () => unscheduled,
      persistentvolumeclaims: () => unscheduled,
    },
    reconcile({ namespace, name }, world) {
      const pod = world.get("pods", namespace, name);
      const key = `${namespace}/${name}`;
      if (pod === undefined || !isPending(pod)) {
        unscheduled.delete(key);
        return undefined;
      }
      if ((pod.spec.schedulerName ?? "default-scheduler") !== "default-scheduler") return undefined;
      const decision = schedule({
        pod,
        candidates: world.list("nodes").map((node) => ({ node, used: usage.on(node.metadata.name) })),
        full: behavior.full,
        claimError: claimError(pod, world),
      });
      const source = "default-scheduler";
      if (decision.kind === "bind") {
        unscheduled.delete(key);
        const conditions = scheduled(pod, { status: "True" }, world.now());
        world.bind(pod, decision.nodeName, { ...pod.status, conditions });
        const message = `Successfully assigned ${key} to ${decision.nodeName}`;
        world.recordEvent(pod, { type: "Normal", reason: "Scheduled", message, source });
        return undefined;
      }
      unscheduled.add(key);
      const { message } = decision;
      if (conditionOfType(pod.status?.conditions, "PodScheduled")?.message === message) return undefined;
      const conditions = scheduled(pod, { status: "False", reason: "Unschedulable", message }, world.now());
      world.writeStatus("pods", pod, { ...pod.status, conditions });
      world.recordEvent(pod, { type: "Warning", reason: "FailedScheduling", message, source });
      return undefined;
    },
  };
}

function scheduled(
  pod: Pod,
  state: Pick<ObjectCondition, "status" | "reason" | "message">,
  now: number,
): ObjectCondition[] {
  const before = conditionOfType(pod.status?.conditions, "PodScheduled");
  const since = before?.status === state.status ? before.lastTransitionTime : undefined;
  const condition: ObjectCondition = {
    type: "PodScheduled",
    ...state,
    observedGeneration: pod.metadata.generation ?? 1,
    lastProbeTime: null,
    lastTransitionTime: since ?? formatTime(now),
  };
  return [...(pod.status?.conditions ?? []).filter((each) => each !== before), condition];
}

function claimError(pod: Pod, world: World): string | undefined {
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const { claimName } = persistentVolumeClaim;
    const claim = world.get("persistentvolumeclaims", pod.metadata.namespace ?? "", claimName);
    if (claim === undefined) return `persistentvolumeclaim "${claimName}" not found`;
    if (claim.status?.phase !== "Bound") return "pod has unbound immediate PersistentVolumeClaims";
  }
  return undefined;
}
