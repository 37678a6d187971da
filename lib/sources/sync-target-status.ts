import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { findCondition } from "../model/condition.ts";
import { listAt, timestampAt, trimmedTextAt } from "./fields.ts";
import { heartbeatFields } from "./sync-target.ts";

/** The two fields that documents name, for a target that shows none yet: its schema keeps the one that it has. */
const documentedHeartbeats: readonly (readonly string[])[] = [["lastHeartbeatTime"], ["lastSyncerHeartbeatTime"]];

/**
 * What TMC writes into a SyncTarget's status after a look: its condition Ready, and when the cluster last answered. All other
 * conditions and fields stay as they are. Undefined when that is there already.
 */
export function syncTargetPatch(
  object: KubeObject,
  { conditions, lastHeartbeat }: NonNullable<ClusterRegistration["status"]>,
): MergePatch | undefined {
  const patch = { ...readyPatch(object, conditions), ...heartbeatPatch(object, lastHeartbeat) };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function readyPatch(
  object: KubeObject,
  conditions: NonNullable<ClusterRegistration["status"]>["conditions"],
): MergePatch {
  const ready = findCondition(conditions, "Ready");
  if (ready === undefined) return {};
  const present = listAt(object, "status", "conditions");
  const at = present.findIndex((entry) => trimmedTextAt(entry, "type") === "Ready");
  // A schema may leave out what it does not know, severity for one: that is no difference.
  const isThere = ["status", "reason", "message"].every(
    (field) => trimmedTextAt(present[at], field) === trimmedTextAt(ready, field),
  );
  if (at >= 0 && isThere) return {};
  return { conditions: at < 0 ? [...present, ready] : present.with(at, ready) };
}

function heartbeatPatch(object: KubeObject, lastHeartbeat: string | undefined): MergePatch {
  if (lastHeartbeat === undefined) return {};
  const shown = heartbeatFields.filter((path) => trimmedTextAt(object, "status", ...path) !== "");
  const paths = shown.length === 0 ? documentedHeartbeats : shown;
  const late = paths.filter((path) => timestampAt(object, "status", ...path) !== Date.parse(lastHeartbeat));
  return Object.assign({}, ...late.map((path) => patchAt(path, lastHeartbeat)));
}

/** The patch that puts a value at a path. */
function patchAt([first = "", ...rest]: readonly string[], value: string): MergePatch {
  return { [first]: rest.length === 0 ? value : patchAt(rest, value) };
}
