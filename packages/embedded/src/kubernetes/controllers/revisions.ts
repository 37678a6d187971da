import type { ControllerRevision, DaemonSet, PodTemplate, StatefulSet } from "../kinds.ts";
import { controllerReference } from "../kinds.ts";
import { revisionTemplate } from "../workloads/stateful-set.ts";
import { hashTemplate, sameTemplate } from "../workloads/template-hash.ts";
import type { World } from "../world.ts";
import { ownedOrAdopted } from "./adopt.ts";

/**
 * Records the current template of a set as its newest revision; returns that revision and all others. A template that
 * was used before gets its old revision with a new number, so that a rollback does not create a revision.
 */
export function recordRevision(
  world: World,
  set: StatefulSet | DaemonSet,
  hashLabel: string,
  inUse: ReadonlySet<string>,
): { current: ControllerRevision; all: readonly ControllerRevision[] } {
  const all = ownedOrAdopted(world, "controllerrevisions", set).toSorted((a, b) => a.revision - b.revision);
  const newest = all.at(-1)?.revision ?? 0;
  const known = all.find((revision) => matchesTemplate(revisionTemplate(revision), set.spec.template));
  if (known !== undefined) {
    const current =
      known.revision === newest ? known : world.update("controllerrevisions", { ...known, revision: newest + 1 });
    deleteOldRevisions(world, set, all, new Set([...inUse, current.metadata.name]));
    return { current, all };
  }
  const hash = hashTemplate(set.spec.template);
  const current = world.create("controllerrevisions", {
    apiVersion: "apps/v1",
    kind: "ControllerRevision",
    metadata: {
      name: `${set.metadata.name}-${hash}`,
      ...(set.metadata.namespace === undefined ? {} : { namespace: set.metadata.namespace }),
      labels: { ...set.spec.template.metadata?.labels, [hashLabel]: hash },
      ...(set.metadata.annotations === undefined ? {} : { annotations: { ...set.metadata.annotations } }),
      ownerReferences: [controllerReference(set)],
    },
    revision: newest + 1,
    data: { spec: { template: { ...structuredClone(set.spec.template), $patch: "replace" } } },
  });
  return { current, all: [...all, current] };
}

const matchesTemplate = (recorded: PodTemplate | undefined, template: PodTemplate): boolean =>
  recorded !== undefined && sameTemplate(recorded, template);

/** The hash at the end of a revision's name. */
export const revisionHash = (revision: ControllerRevision, set: StatefulSet | DaemonSet): string =>
  revision.metadata.name.slice(set.metadata.name.length + 1);

function deleteOldRevisions(
  world: World,
  set: StatefulSet | DaemonSet,
  all: readonly ControllerRevision[],
  inUse: ReadonlySet<string>,
): void {
  const idle = all.filter((revision) => !inUse.has(revision.metadata.name));
  const excess = Math.max(0, idle.length - (set.spec.revisionHistoryLimit ?? 10));
  for (const revision of idle.slice(0, excess)) world.remove("controllerrevisions", revision);
}
