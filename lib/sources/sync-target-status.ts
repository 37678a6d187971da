import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { MergePatch } from "@tmc/kube/merge-patch.ts";
import type { ClusterRegistration } from "../api/cluster-registration.ts";
import { findCondition } from "../model/condition.ts";
import { heartbeatFields } from "./sync-target.ts";
import { arrayAt, timestampAt, trimmedTextAt } from "./view.ts";

/** Used if the target has no heartbeat field yet. Both documented names are written; the server keeps the one in its schema. */
const defaultHeartbeatFields: readonly (readonly string[])[] = [["lastHeartbeatTime"], ["lastSyncerHeartbeatTime"]];

/**
 * Returns the patch that writes the Ready condition and the last heartbeat to a SyncTarget's status after a probe. It leaves
 * all other conditions and fields unchanged. Undefined if nothing changes.
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
  const present = arrayAt(object, "status", "conditions");
  const at = present.findIndex((entry) => trimmedTextAt(entry, "type") === "Ready");
  // A schema may lack fields such as severity, so only these fields are compared.
  const isCurrent = ["status", "reason", "message"].every(
    (field) => trimmedTextAt(present[at], field) === trimmedTextAt(ready, field),
  );
  if (at >= 0 && isCurrent) return {};
  return { conditions: at < 0 ? [...present, ready] : present.with(at, ready) };
}

function heartbeatPatch(object: KubeObject, lastHeartbeat: string | undefined): MergePatch {
  if (lastHeartbeat === undefined) return {};
  const presentFields = heartbeatFields.filter((path) => trimmedTextAt(object, "status", ...path) !== "");
  const paths = presentFields.length === 0 ? defaultHeartbeatFields : presentFields;
  const outdated = paths.filter((path) => timestampAt(object, "status", ...path) !== Date.parse(lastHeartbeat));
  return Object.assign({}, ...outdated.map((path) => patchAt(path, lastHeartbeat)));
}

function patchAt([first = "", ...rest]: readonly string[], value: string): MergePatch {
  return { [first]: rest.length === 0 ? value : patchAt(rest, value) };
}
