import { type Behavior, outcomeFor } from "../behavior.ts";
import { isPodFinished } from "../conditions.ts";
import { decidePod } from "../scheduling/kubelet.ts";
import { type ClusterController, keyOf } from "../world.ts";
import { createFirstSeen } from "./first-seen.ts";

/** Creates the kubelet of all nodes: it starts pods, reports their status and terminates them. */
export function createKubelet(behavior: Behavior): ClusterController {
  const starts = createFirstSeen();
  const stops = createFirstSeen();
  const addresses = createPodAddresses();

  return {
    name: "kubelet",
    watches: {
      pods: (pod, _, change) => {
        if (change === "DELETED") {
          for (const delays of [starts, stops]) delays.forget(pod.metadata.uid);
          addresses.free(pod.metadata.uid);
          return [];
        }
        return (pod.spec.nodeName ?? "") === "" ? [] : [keyOf(pod)];
      },
      nodes: (node, world, change) =>
        change === "DELETED"
          ? world
              .list("pods")
              .filter((pod) => pod.spec.nodeName === node.metadata.name)
              .map(keyOf)
          : [],
    },
    reconcile({ namespace, name }, world) {
      const pod = world.get("pods", namespace, name);
      if (pod?.spec.nodeName === undefined || pod.spec.nodeName === "") return undefined;
      const node = world.get("nodes", "", pod.spec.nodeName);
      if (node === undefined) {
        // The node is gone, so no kubelet is left to run or terminate the pod.
        world.remove("pods", pod, { now: true });
        return undefined;
      }
      const now = world.now();
      const { uid, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
      if (deletionTimestamp !== undefined && deletionGracePeriodSeconds > 0) {
        const age = stops.ageMs(uid, now);
        const remainingMs = Math.min(behavior.readyMs, deletionGracePeriodSeconds * 1000) - age;
        if (age === 0 && !isPodFinished(pod)) {
          for (const container of pod.spec.containers) {
            const message = `Stopping container ${container.name}`;
            world.recordEvent(pod, { type: "Normal", reason: "Killing", message, source: "kubelet" });
          }
        }
        if (remainingMs > 0) return remainingMs;
        world.remove("pods", pod, { now: true });
        return undefined;
      }
      if (deletionTimestamp !== undefined || isPodFinished(pod)) return undefined;

      const hostIP = node.status?.addresses?.find((address) => address.type === "InternalIP")?.address ?? "127.0.0.1";
      const step = decidePod({
        pod,
        outcome: outcomeFor(behavior, pod),
        ageMs: starts.ageMs(uid, now),
        readyMs: behavior.readyMs,
        runMs: behavior.runMs,
        podIP: pod.status?.podIP ?? (pod.spec.hostNetwork === true ? hostIP : addresses.of(uid)),
        hostIP,
        now,
      });
      world.writeStatus("pods", pod, step.status);
      for (const event of step.events) world.recordEvent(pod, event);
      return step.nextMs;
    },
  };
}

/** Allocates pod addresses from 10.244.0.0/16, in the same order in every run. */
function createPodAddresses() {
  const used = new Map<string, string>();
  let next = 0;
  return {
    of: (uid: string): string => {
      const known = used.get(uid);
      if (known !== undefined) return known;
      const taken = new Set(used.values());
      const last = 254 * 255;
      let address: string;
      do {
        address = `10.244.${Math.floor(next / 254)}.${(next % 254) + 1}`;
        next = (next + 1) % last;
      } while (taken.has(address) && taken.size < last);
      used.set(uid, address);
      return address;
    },
    free: (uid: string): void => {
      used.delete(uid);
    },
  };
}
