import type { KubeClient } from "@tmc/kube/client.ts";
import type { Clock } from "@tmc/kube/clock.ts";
import { drained, isDrained, uncordoned, writeScheduling } from "../scheduling.ts";
import type { LocalParts } from "./parts.ts";

/** What a person at the board can do to a cluster, by a key. */
export type Lever = Readonly<{ key: string; does: string; pull: () => Promise<void> }>;

type LeverOptions = Readonly<{
  parts: LocalParts;
  workspace: KubeClient;
  clock: Clock;
  note: (subject: string, text: string) => void;
}>;

/** The levers of all clusters: a letter drains one and lets work back in, the capital cuts it off and reconnects it. */
export function createLevers({ parts, workspace, clock, note }: LeverOptions): readonly Lever[] {
  const cutOff = new Set<string>();
  const toggleDrain = async (name: string): Promise<void> => {
    await writeScheduling(workspace, name, (spec) => (isDrained(spec) ? uncordoned(spec) : drained(spec, clock.now())));
  };
  const toggleReachable = async (name: string): Promise<void> => {
    const reachable = cutOff.delete(name);
    if (!reachable) cutOff.add(name);
    parts.setReachable?.(name, reachable);
    note(name, reachable ? "can be reached again" : "was cut off; three failed probes make it not Ready");
  };
  const letterOf = (name: string): string => name.slice(0, 1);
  return [
    ...parts.clusters.map(({ name }) => ({
      key: letterOf(name).toLowerCase(),
      does: `drain ${name}, or let work back in`,
      pull: () => toggleDrain(name),
    })),
    ...(parts.setReachable === undefined ? [] : parts.clusters).map(({ name }) => ({
      key: letterOf(name).toUpperCase(),
      does: `cut ${name} off, or reconnect it`,
      pull: () => toggleReachable(name),
    })),
  ];
}
