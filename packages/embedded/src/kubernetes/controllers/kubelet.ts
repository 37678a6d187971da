import { type Behaviour, outcomeFor } from "../behaviour.ts";
import { isFinished } from "../conditions.ts";
import { decidePod } from "../scheduling/kubelet.ts";
import { type Controller, keyOf } from "../world.ts";
import { createDelays } from "./delays.ts";

/** Creates what runs on every node: it starts pods, reports on them, and lets them end. */
export function createKubelet(behaviour: Behaviour): Controller {
  const starts = createDelays();
  const stops = createDelays();
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
        // Nobody is left to run it or to say that it has ended.
        world.remove("pods", pod, { now: true });
        return undefined;
      }
      const now = world.now();
      const { uid, deletionTimestamp, deletionGracePeriodSeconds = 0 } = pod.metadata;
      if (deletionTimestamp !== undefined && deletionGracePeriodSeconds > 0) {
        const age = stops.age(uid, now);
        const left = Math.min(behaviour.readyMs, deletionGracePeriodSeconds * 1000) - age;
        if (age === 0 && !isFinished(pod)) {
          for (const container of pod.spec.containers) {
            const message = `Stopping container ${container.name}`;
            world.note(pod, { type: "Normal", reason: "Killing", message, source: "kubelet" });
          }
        }
        if (left > 0) return left;
        world.remove("pods", pod, { now: true });
        return undefined;
      }
      if (deletionTimestamp !== undefined || isFinished(pod)) return undefined;

      const hostIP = node.status?.addresses?.find((address) => address.type === "InternalIP")?.address ?? "127.0.0.1";
      const step = decidePod({
        pod,
        outcome: outcomeFor(behaviour, pod),
        ageMs: starts.age(uid, now),
        readyMs: behaviour.readyMs,
        runMs: behaviour.runMs,
        podIP: pod.status?.podIP ?? (pod.spec.hostNetwork === true ? hostIP : addresses.of(uid)),
        hostIP,
        now,
      });
      world.writeStatus("pods", pod, step.status);
      for (const event of step.events) world.note(pod, event);
      return step.nextMs;
    },
  };
}

/** Deals out the addresses of 10.244.0.0/16, the same ones in the same order in every run. */
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
