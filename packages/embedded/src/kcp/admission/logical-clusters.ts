import { privilegedGroup } from "../../auth/rbac.ts";
import type { HookContext, ResourceHooks } from "../../definition.ts";
import { valueAt } from "../../fields.ts";
import { isEqual } from "../../machinery/json-value.ts";
import { refusal } from "./refusal.ts";

const type = { group: "core.kcp.io", plural: "logicalclusters" };

const isPrivileged = ({ user }: HookContext): boolean => user.groups.includes(privilegedGroup);

/** A LogicalCluster comes and goes with its workspace, and in no other way. */
export const logicalClusterHooks: ResourceHooks = {
  prepareCreate: (object, context) => {
    // Of another name than `cluster` the schema says what is wrong with it.
    if (isPrivileged(context) || object.metadata.name !== "cluster") return;
    throw refusal(type, object, "LogicalCluster cannot be created");
  },
  prepareUpdate: (object, old, context) => {
    if (isPrivileged(context)) return;
    if (!isEqual(valueAt(object, "spec", "initializers"), valueAt(old, "spec", "initializers"))) {
      throw refusal(type, object, "spec.initializers is immutable");
    }
  },
  prepareDelete: (object, context) => {
    if (isPrivileged(context) || valueAt(object, "spec", "directlyDeletable") === true) return;
    throw refusal(type, object, "LogicalCluster cannot be deleted");
  },
};
