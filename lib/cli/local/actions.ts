import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { drainedScheduling, isDrained, uncordonedScheduling, writeScheduling } from "../cluster/scheduling.ts";
import type { LocalEnvironment } from "./environment.ts";

/** An action on a cluster that a key of the board triggers. */
export type BoardAction = Readonly<{ key: string; description: string; run: () => Promise<void> }>;

type ActionOptions = Readonly<{
  environment: LocalEnvironment;
  workspace: KubeClient;
  clock: Clock;
  appendEvent: (subject: string, message: string) => void;
}>;

/** Creates the actions for all clusters: the lower-case initial toggles a drain, the upper-case one toggles the network connection. */
export function createActions({ environment, workspace, clock, appendEvent }: ActionOptions): readonly BoardAction[] {
  const disconnected = new Set<string>();
  const toggleDrain = async (name: string): Promise<void> => {
    await writeScheduling(workspace, name, (spec) =>
      isDrained(spec) ? uncordonedScheduling(spec) : drainedScheduling(spec, clock.now()),
    );
  };
  const toggleReachable = async (name: string): Promise<void> => {
    const reachable = disconnected.delete(name);
    if (!reachable) disconnected.add(name);
    environment.setReachable?.(name, reachable);
    appendEvent(name, reachable ? "reconnected" : "disconnected; it becomes not Ready after three failed probes");
  };
  const initialOf = (name: string): string => name.slice(0, 1);
  return [
    ...environment.clusters.map(({ name }) => ({
      key: initialOf(name).toLowerCase(),
      description: `drain or uncordon ${name}`,
      run: () => toggleDrain(name),
    })),
    ...(environment.setReachable === undefined ? [] : environment.clusters).map(({ name }) => ({
      key: initialOf(name).toUpperCase(),
      description: `disconnect or reconnect ${name}`,
      run: () => toggleReachable(name),
    })),
  ];
}
