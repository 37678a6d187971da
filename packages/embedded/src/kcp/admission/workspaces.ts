import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { invalidObject } from "../../api-errors.ts";
import { privilegedGroup } from "../../auth/rbac.ts";
import type { HookContext, ResourceHooks } from "../../definition.ts";
import { listAt, objectAt, textAt, textsByName, valueAt } from "../../fields.ts";
import { isObject } from "../../machinery/json-value.ts";
import type { KcpAuthorizer } from "../authorization.ts";
import { clusterOf, type Directory } from "../directory.ts";
import { ownerAnnotation, typeAnnotation } from "../names.ts";
import { findWorkspaceType, fullNameOf, resolveWorkspaceType, typeNamed } from "../workspace-types.ts";
import { refusal } from "./refusal.ts";

const type = { group: "tenancy.kcp.io", plural: "workspaces", kind: "Workspace" };

/** The rules of Workspaces: a type that exists, may be used and fits below its parent; and what nobody may change. */
export function workspaceHooks(directory: Directory, authorizer: () => KcpAuthorizer): ResourceHooks {
  return {
    prepareCreate: (object, context) => {
      if (!isName(object.metadata.name ?? "")) return;
      const privileged = context.user.groups.includes(privilegedGroup);
      if (!privileged) {
        object.metadata.annotations = { ...object.metadata.annotations, [ownerAnnotation]: ownerText(context) };
      }
      if (valueAt(object, "spec", "mount") !== undefined) return;
      object.status = { phase: "Scheduling" };
      const workspaceType = chooseType(directory, object, context);
      if (!privileged) {
        if (textAt(object, "spec", "cluster") !== "") {
          throw refusal(type, object, "spec.Cluster can only be set by system privileged users");
        }
        if (textAt(object, "spec", "URL") !== "") {
          throw refusal(type, object, "spec.URL can only be set by system privileged users");
        }
      }
      checkFit(directory, authorizer(), object, workspaceType, context);
    },
    prepareUpdate: (object, old, context) => {
      refuseChange(object, old, ["spec", "type"], ["name"], "name is immutable");
      refuseChange(object, old, ["spec", "type"], ["path"], "path is immutable");
      const cluster = textAt(old, "spec", "cluster");
      if (cluster !== "" && textAt(object, "spec", "cluster") !== cluster) {
        const given = textAt(object, "spec", "cluster");
        const message =
          given === ""
            ? "Invalid value: cluster cannot be unset"
            : `Invalid value: ${JSON.stringify(given)}: cluster is immutable`;
        throw invalidObject(type, object.metadata.name ?? "", [
          { type: "Invalid", field: given === "" ? "spec" : "spec.cluster", message },
        ]);
      }
      if (context.user.groups.includes(privilegedGroup)) return;
      if (textAt(object, "spec", "cluster") !== cluster) {
        throw refusal(type, object, "spec.cluster can only be changed by system privileged users");
      }
      if (textAt(object, "spec", "URL") !== textAt(old, "spec", "URL")) {
        throw refusal(type, object, "spec.URL can only be changed by system privileged users");
      }
    },
  };
}

const isName = (name: string): boolean => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);

/** Who made the workspace; kcp keeps only the name once the workspace is ready. */
function ownerText({ user: { name, uid, groups, extra } }: HookContext): string {
  return JSON.stringify({
    username: name,
    ...(uid === undefined || uid === "" ? {} : { uid }),
    groups,
    ...(extra === undefined || Object.keys(extra).length === 0 ? {} : { extra }),
  });
}

function chooseType(directory: Directory, object: KubeObject, { cluster }: HookContext): KubeObject {
  const own = directory.logicalCluster(cluster);
  if (own === undefined) {
    throw refusal(type, object, 'workspace type cannot be resolved: logicalcluster.core.kcp.io "cluster" not found');
  }
  let path = textAt(object, "spec", "type", "path");
  let name = textAt(object, "spec", "type", "name");
  if (name === "") {
    const parentType = typeNamed(directory, own.metadata.annotations?.[typeAnnotation] ?? "");
    path = textAt(parentType, "spec", "defaultChildWorkspaceType", "path");
    name = textAt(parentType, "spec", "defaultChildWorkspaceType", "name");
  }
  const found = findWorkspaceType(directory, directory.pathOf(cluster), { path, name });
  if (found === undefined) {
    throw refusal(
      type,
      object,
      path === ""
        ? `workspace type "${name}" cannot be resolved`
        : `Internal error occurred: workspacetypes.tenancy.kcp.io "${path}:${name}" not found`,
    );
  }
  const spec = isObject(object.spec) ? object.spec : {};
  object.spec = { ...spec, type: { name, path: path === "" ? directory.pathOf(clusterOf(found)) : path } };
  const additional = textsByName(valueAt(found, "spec", "additionalWorkspaceLabels"));
  if (Object.keys(additional).length > 0) object.metadata.labels = { ...additional, ...object.metadata.labels };
  return found;
}

function checkFit(
  directory: Directory,
  authorizer: KcpAuthorizer,
  object: KubeObject,
  workspaceType: KubeObject,
  { cluster, user }: HookContext,
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
    if (!authorizer.decide(clusterOf(alias), user, use, { deep: true })) {
      throw refusal(
        type,
        object,
        `unable to use workspace type ${fullNameOf(alias)}: missing verb='use' permission on workspacetype`,
      );
    }
  }
  const parentName = directory.logicalCluster(cluster)?.metadata.annotations?.[typeAnnotation] ?? "";
  const parentType = typeNamed(directory, parentName);
  if (parentType === undefined) return;
  const parent = resolveWorkspaceType(directory, parentType);
  const childName = `${textAt(object, "spec", "type", "path")}:${textAt(object, "spec", "type", "name")}`;
  const problems = [
    ...misfits(own, parent, "limitAllowedParents", ["parent", childName, parentName]),
    ...misfits(parent, own, "limitAllowedChildren", ["child", parentName, childName]),
  ];
  if (problems.length > 0)
    throw refusal(type, object, problems.length === 1 ? problems.join("") : `[${problems.join(", ")}]`);
}

/** What stands in the limits of one side and is not met by the other. */
function misfits(
  limiting: readonly KubeObject[],
  others: readonly KubeObject[],
  limit: "limitAllowedParents" | "limitAllowedChildren",
  [role, limitingName, otherName]: readonly [string, string, string],
): string[] {
  return limiting.flatMap((alias) => {
    const limits = objectAt(alias, "spec", limit);
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

function refuseChange(
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
