import type { Behaviour } from "../behaviour.ts";
import { findCondition, isFinished } from "../conditions.ts";
import type { Condition, Pod } from "../kinds.ts";
import { formatTime } from "../kinds.ts";
import { schedule } from "../scheduling/schedule.ts";
import { createUsage } from "../scheduling/usage.ts";
import { type Controller, keyOf, type World } from "../world.ts";

/** Creates the scheduler: it gives every pod a node, or the reason why there is none. */
export function createScheduler(behaviour: Behaviour): Controller {
  const usage = createUsage();
  const waiting = new Set<string>();
  const isPending = (pod: Pod): boolean =>
    (pod.spec.nodeName ?? "") === "" && pod.metadata.deletionTimestamp === undefined && !isFinished(pod);

  return {
    name: "scheduler",
    watches: {
      pods: (pod, _, change) => {
        const gone = change === "DELETED";
        usage.observe(pod, gone);
        if (gone) waiting.delete(keyOf(pod));
        if (!gone && isPending(pod)) return [keyOf(pod)];
        // Room was made: whoever waits may fit now.
        return gone || isFinished(pod) ? waiting : [];
      },
      nodes: () => waiting,
      persistentvolumeclaims: () => waiting,
    },
    reconcile({ namespace, name }, world) {
      const pod = world.get("pods", namespace, name);
      const key = `${namespace}/${name}`;
      if (pod === undefined || !isPending(pod)) {
        waiting.delete(key);
        return undefined;
      }
      if ((pod.spec.schedulerName ?? "default-scheduler") !== "default-scheduler") return undefined;
      const decision = schedule({
        pod,
        candidates: world.list("nodes").map((node) => ({ node, used: usage.on(node.metadata.name) })),
        full: behaviour.full,
        claimProblem: claimProblem(pod, world),
      });
      const source = "default-scheduler";
      if (decision.kind === "bind") {
        waiting.delete(key);
        const conditions = scheduled(pod, { status: "True" }, world.now());
        world.bind(pod, decision.nodeName, { ...pod.status, conditions });
        const message = `Successfully assigned ${key} to ${decision.nodeName}`;
        world.note(pod, { type: "Normal", reason: "Scheduled", message, source });
        return undefined;
      }
      waiting.add(key);
      const { message } = decision;
      if (findCondition(pod.status?.conditions, "PodScheduled")?.message === message) return undefined;
      const conditions = scheduled(pod, { status: "False", reason: "Unschedulable", message }, world.now());
      world.writeStatus("pods", pod, { ...pod.status, conditions });
      world.note(pod, { type: "Warning", reason: "FailedScheduling", message, source });
      return undefined;
    },
  };
}

function scheduled(pod: Pod, state: Pick<Condition, "status" | "reason" | "message">, now: number): Condition[] {
  const before = findCondition(pod.status?.conditions, "PodScheduled");
  const since = before?.status === state.status ? before.lastTransitionTime : undefined;
  const condition: Condition = {
    type: "PodScheduled",
    ...state,
    observedGeneration: pod.metadata.generation ?? 1,
    lastProbeTime: null,
    lastTransitionTime: since ?? formatTime(now),
  };
  return [...(pod.status?.conditions ?? []).filter((each) => each !== before), condition];
}

function claimProblem(pod: Pod, world: World): string | undefined {
  for (const { persistentVolumeClaim } of pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const { claimName } = persistentVolumeClaim;
    const claim = world.get("persistentvolumeclaims", pod.metadata.namespace ?? "", claimName);
    if (claim === undefined) return `persistentvolumeclaim "${claimName}" not found`;
    if (claim.status?.phase !== "Bound") return "pod has unbound immediate PersistentVolumeClaims";
  }
  return undefined;
}
