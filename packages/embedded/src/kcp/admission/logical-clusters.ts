import { valueAt } from "@tmc/kube/json.ts";
import { privilegedGroup } from "../../auth/rbac.ts";
import type { HookContext, ResourceHooks } from "../../definitions/definition.ts";
import { isEqual } from "../../machinery/json-value.ts";
import { kcpRejection } from "./rejection.ts";

const type = { group: "core.kcp.io", plural: "logicalclusters" };

const isPrivileged = ({ user }: HookContext): boolean => user.groups.includes(privilegedGroup);

/** Admission of LogicalClusters: only kcp creates and deletes them, together with their workspace. */
export const logicalClusterHooks: ResourceHooks = {
  prepareCreate: (object, context) => {
    // For any name other than `cluster`, schema validation reports the error.
    if (isPrivileged(context) || object.metadata.name !== "cluster") return;
    throw kcpRejection(type, object, "LogicalCluster cannot be created");
  },
  prepareUpdate: (object, old, context) => {
    if (isPrivileged(context)) return;
    if (!isEqual(valueAt(object, "spec", "initializers"), valueAt(old, "spec", "initializers"))) {
      throw kcpRejection(type, object, "spec.initializers is immutable");
    }
  },
  prepareDelete: (object, context) => {
    if (isPrivileged(context) || valueAt(object, "spec", "directlyDeletable") === true) return;
    throw kcpRejection(type, object, "LogicalCluster cannot be deleted");
  },
};
