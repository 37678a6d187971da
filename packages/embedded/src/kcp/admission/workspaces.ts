import { isFields, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { privilegedGroup } from "../../auth/rbac.ts";
import type { HookContext, ResourceHooks } from "../../definitions/definition.ts";
import { invalidObject } from "../../machinery/api-errors.ts";
import { listAt, recordAt, textsByName } from "../../machinery/fields.ts";
import type { KcpAuthorizer } from "../authorization.ts";
import { type Directory, logicalClusterOf } from "../directory.ts";
import { typeAnnotation, workspaceOwnerAnnotation } from "../names.ts";
import { findWorkspaceType, fullNameOf, resolveWorkspaceType, workspaceTypeNamed } from "../workspace-types.ts";
import { kcpRejection } from "./rejection.ts";

const type = { group: "tenancy.kcp.io", plural: "workspaces", kind: "Workspace" };

/**
 * Admission of Workspaces: the type must exist, be usable and be allowed below the parent; some fields are immutable.
 */
export function workspaceHooks(directory: Directory, authorizer: () => KcpAuthorizer): ResourceHooks {
  return {
    prepareCreate: (object, context) => {
      if (!isName(object.metadata.name ?? "")) return;
      const privileged = context.user.groups.includes(privilegedGroup);
      if (!privileged) {
        object.metadata.annotations = {
          ...object.metadata.annotations,
          [workspaceOwnerAnnotation]: ownerText(context),
        };
      }
      if (valueAt(object, "spec", "mount") !== undefined) return;
      object.status = { phase: "Scheduling" };
      const workspaceType = chooseType(directory, object, context);
      if (!privileged) {
        if (textAt(object, "spec", "cluster") !== "") {
          throw kcpRejection(type, object, "spec.Cluster can only be set by system privileged users");
        }
        if (textAt(object, "spec", "URL") !== "") {
          throw kcpRejection(type, object, "spec.URL can only be set by system privileged users");
        }
      }
      checkTypeLimits(directory, authorizer(), object, workspaceType, context);
    },
    prepareUpdate: (object, old, context) => {
      rejectChange(object, old, ["spec", "type"], ["name"], "name is immutable");
      rejectChange(object, old, ["spec", "type"], ["path"], "path is immutable");
      const logicalCluster = textAt(old, "spec", "cluster");
      if (logicalCluster !== "" && textAt(object, "spec", "cluster") !== logicalCluster) {
        const requested = textAt(object, "spec", "cluster");
        const message =
          requested === ""
            ? "Invalid value: cluster cannot be unset"
            : `Invalid value: ${JSON.stringify(requested)}: cluster is immutable`;
        throw invalidObject(type, object.metadata.name ?? "", [
          { type: "Invalid", field: requested === "" ? "spec" : "spec.cluster", message },
        ]);
      }
      if (context.user.groups.includes(privilegedGroup)) return;
      if (textAt(object, "spec", "cluster") !== logicalCluster) {
        throw kcpRejection(type, object, "spec.cluster can only be changed by system privileged users");
      }
      if (textAt(object, "spec", "URL") !== textAt(old, "spec", "URL")) {
        throw kcpRejection(type, object, "spec.URL can only be changed by system privileged users");
      }
    },
  };
}

const isName = (name: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);

/** The creator of the workspace as JSON. kcp reduces it to the user name once the workspace is ready. */
function ownerText({ user: { name, uid, groups, extra } }: HookContext): string {
  return JSON.stringify({
    username: name,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    groups,
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  });
}

function chooseType(directory: Directory, object: KubeObject, { logicalCluster }: HookContext): KubeObject {
  const own = directory.logicalCluster(logicalCluster);
  if (own === undefined) {
    throw kcpRejection(
      type,
      object,
      'workspace type cannot be resolved: logicalcluster.core.kcp.io "cluster" not found',
    );
  }
  let path = textAt(object, "spec", "type", "path");
  let name = textAt(object, "spec", "type", "name");
  if (name === "") {
    const parentType = workspaceTypeNamed(directory, own.metadata.annotations?.[typeAnnotation] ?? "");
    path = textAt(parentType, "spec", "defaultChildWorkspaceType", "path");
    name = textAt(parentType, "spec", "defaultChildWorkspaceType", "name");
  }
  const found = findWorkspaceType(directory, directory.pathOf(logicalCluster), { path, name });
  if (found === undefined) {
    throw kcpRejection(
      type,
      object,
      path === ""
        ? `workspace type "${name}" cannot be resolved`
        : `Internal error occurred: workspacetypes.tenancy.kcp.io "${path}:${name}" not found`,
    );
  }
  const spec = isFields(object.spec) ? object.spec : {};
  object.spec = { ...spec, type: { name, path: path === "" ? directory.pathOf(logicalClusterOf(found)) : path } };
  const additional = textsByName(valueAt(found, "spec", "additionalWorkspaceLabels"));
  if (Object.keys(additional).length > 0) object.metadata.labels = { ...additional, ...object.metadata.labels };
  return found;
}

function checkTypeLimits(
  directory: Directory,
  authorizer: KcpAuthorizer,
  object: KubeObject,
  workspaceType: KubeObject,
  { logicalCluster, user }: HookContext,
): void {
  const own = resolveWorkspaceType(directory, workspaceType);
  for (const alias of own) {
    const use = {
      verb: "use",
      group: "tenancy.kcp.io",
      version: "v1alpha1",
      resource: "workspacetypes",
      subresource: "",
      namespace: "",
      name: alias.metadata.name ?? "",
      path: "",
    };
    if (!authorizer.decide(logicalClusterOf(alias), user, use, { deep: true })) {
      throw kcpRejection(
        type,
        object,
        `unable to use workspace type ${fullNameOf(alias)}: missing verb='use' permission on workspacetype`,
      );
    }
  }
  const parentName = directory.logicalCluster(logicalCluster)?.metadata.annotations?.[typeAnnotation] ?? "";
  const parentType = workspaceTypeNamed(directory, parentName);
  if (parentType === undefined) return;
  const parent = resolveWorkspaceType(directory, parentType);
  const childName = `${textAt(object, "spec", "type", "path")}:${textAt(object, "spec", "type", "name")}`;
  const violations = [
    ...limitViolations(own, parent, "limitAllowedParents", ["parent", childName, parentName]),
    ...limitViolations(parent, own, "limitAllowedChildren", ["child", parentName, childName]),
  ];
  if (violations.length > 0)
    throw kcpRejection(type, object, violations.length === 1 ? violations.join("") : `[${violations.join(", ")}]`);
}

/** Checks the limits of one side's types against the types of the other side. */
function limitViolations(
  limiting: readonly KubeObject[],
  others: readonly KubeObject[],
  limit: "limitAllowedParents" | "limitAllowedChildren",
  [role, limitingName, otherName]: readonly [string, string, string],
): string[] {
  return limiting.flatMap((alias) => {
    const limits = recordAt(alias, "spec", limit);
    if (limits.none === true) return [`workspace type ${limitingName} cannot have any ${role}`];
    const allowed = listAt(limits, "types").map((item) => `${textAt(item, "path")}:${textAt(item, "name")}`);
    const implemented = others.map(fullNameOf);
    if (allowed.length === 0 || implemented.some((name) => allowed.includes(name))) return [];
    const extending = fullNameOf(alias) === limitingName ? "" : ` extends ${fullNameOf(alias)}, which`;
    const list = (names: readonly string[]): string => `[${[...new Set(names)].toSorted().join(" ")}]`;
    return [
      `workspace type ${limitingName}${extending} only allows ${list(allowed)} ${role} workspaces, but ${role} type ${otherName} only implements ${list(implemented)}`,
    ];
  });
}

function rejectChange(
  object: KubeObject,
  old: KubeObject,
  field: readonly string[],
  within: readonly string[],
  why: string,
): void {
  const before = valueAt(old, ...field, ...within);
  if (before === undefined || before === valueAt(object, ...field, ...within)) return;
  throw invalidObject(type, object.metadata.name ?? "", [
    { type: "Invalid", field: field.join("."), message: `Invalid value: ${why}` },
  ]);
}
