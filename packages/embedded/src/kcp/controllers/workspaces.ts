import { isFields, textAt, valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, recordAt, textsAt } from "../../machinery/fields.ts";
import { bindingClaims, exportClaims } from "../claims.ts";
import { kcpConditionsOf } from "../conditions.ts";
import { logicalClusterOf } from "../directory.ts";
import {
  defaultBindingName,
  generateLogicalClusterName,
  logicalClusterFinalizer,
  pathAnnotation,
  phaseLabel,
  shardHash,
  typeAnnotation,
  workspaceFinalizer,
  workspaceOwnerAnnotation,
} from "../names.ts";
import { systemTypes } from "../system-client.ts";
import { fullNameOf, resolveWorkspaceType, workspaceTypeNamed } from "../workspace-types.ts";
import type { ControllerWorld } from "./world.ts";

const bindingsInitializer = "system:apibindings";
const clusterKey = "internal.tenancy.kcp.io/cluster";
const shardKey = "internal.tenancy.kcp.io/shard";

/**
 * Reconciles a Workspace: schedules it to a new logical cluster, waits for initialization until `Ready`, and deletes
 * it.
 */
export function reconcileWorkspace(world: ControllerWorld, parent: string, name: string): void {
  const { client, directory, clock, delays, loop } = world;
  const workspace = client.find(systemTypes.workspaces, { logicalCluster: parent }, name);
  if (workspace === undefined || valueAt(workspace, "spec", "mount") !== undefined) return;
  if (workspace.metadata.deletionTimestamp !== undefined) {
    deleteWorkspace(world, parent, workspace);
    return;
  }
  if (textAt(workspace, "spec", "cluster") === "") {
    schedule(world, parent, workspace);
    return;
  }
  const conditions = kcpConditionsOf(valueAt(workspace, "status", "conditions"), clock.now());
  const own = directory.logicalCluster(textAt(workspace, "spec", "cluster"));
  const status: Record<string, unknown> = { ...recordAt(workspace, "status") };
  if (textAt(status, "phase") === "Scheduling") {
    status.phase = "Initializing";
    conditions.markTrue("WorkspaceScheduled");
  }
  const initializers = textsAt(own, "status", "initializers");
  const waitMs = (delays().workspaceMs ?? 0) - (clock.now() - Date.parse(workspace.metadata.creationTimestamp ?? ""));
  if (textAt(status, "phase") === "Initializing") {
    if (waitMs > 0) loop.addAfter(waitMs, { kind: "workspace", logicalCluster: parent, name });
    else if (initializers.length > 0 || own === undefined) {
      status.initializers = initializers;
      const message = `Initializers still exist: [${initializers.join(" ")}]`;
      conditions.markFalse("WorkspaceInitialized", { reason: "InitializerExists", severity: "Info", message });
    } else {
      status.initializers = undefined;
      status.phase = "Ready";
      conditions.markTrue("WorkspaceInitialized");
    }
  }
  status.conditions = conditions.list();
  const written = client.writeStatus(systemTypes.workspaces, { logicalCluster: parent }, workspace, status);
  setPhaseLabel(world, parent, written, textAt(status, "phase"));
}

/** Also reduces the owner annotation to the user name once the workspace is ready. */
function setPhaseLabel(
  { client }: ControllerWorld,
  logicalCluster: string,
  workspace: KubeObject,
  phase: string,
): void {
  const owner = workspace.metadata.annotations?.[workspaceOwnerAnnotation];
  const shortOwner = owner === undefined || phase !== "Ready" ? owner : ownerName(owner);
  if (workspace.metadata.labels?.[phaseLabel] === phase && shortOwner === owner) return;
  client.merge(systemTypes.workspaces, { logicalCluster }, workspace.metadata.name ?? "", {
    metadata: {
      labels: { [phaseLabel]: phase },
      ...(shortOwner === undefined ? {} : { annotations: { [workspaceOwnerAnnotation]: shortOwner } }),
    },
  });
}

function ownerName(text: string): string {
  const parsed: unknown = JSON.parse(text);
  return JSON.stringify({ username: textAt(parsed, "username") });
}

function schedule(world: ControllerWorld, parent: string, workspace: KubeObject): void {
  const { client, directory, random, address } = world;
  const name = workspace.metadata.name ?? "";
  let logicalCluster = generateLogicalClusterName(random);
  while (directory.logicalCluster(logicalCluster) !== undefined) logicalCluster = generateLogicalClusterName(random);
  const path = `${directory.pathOf(parent)}:${name}`;
  const labeled = client.merge(systemTypes.workspaces, { logicalCluster: parent }, name, {
    metadata: {
      annotations: { [clusterKey]: logicalCluster, [shardKey]: shardHash },
      labels: { [phaseLabel]: "Scheduling" },
      finalizers: [
        ...(workspace.metadata.finalizers ?? []).filter((item) => item !== workspaceFinalizer),
        workspaceFinalizer,
      ],
    },
  });
  const type = `${textAt(workspace, "spec", "type", "path")}:${textAt(workspace, "spec", "type", "name")}`;
  const owner = labeled.metadata.annotations?.[workspaceOwnerAnnotation];
  createLogicalCluster(world, {
    name: logicalCluster,
    path,
    type,
    ...(owner === undefined ? {} : { owner }),
    ownedBy: {
      apiVersion: "tenancy.kcp.io/v1alpha1",
      cluster: parent,
      name,
      resource: "workspaces",
      uid: workspace.metadata.uid ?? "",
    },
  });
  client.merge(systemTypes.workspaces, { logicalCluster: parent }, name, {
    spec: { cluster: logicalCluster, URL: `${address()}/clusters/${path}` },
  });
}

export type NewLogicalCluster = Readonly<{
  name: string;
  path: string;
  /** The full name of the workspace type. */
  type: string;
  /** The owner as JSON, from the workspace's annotation. */
  owner?: string;
  ownedBy?: Readonly<Record<string, string>>;
}>;

/** Creates the LogicalCluster object of a new logical cluster. */
export function createLogicalCluster(
  { client, directory, address }: ControllerWorld,
  { name, path, type, owner, ownedBy }: NewLogicalCluster,
): void {
  const workspaceType = workspaceTypeNamed(directory, type);
  const types = workspaceType === undefined ? [] : resolveWorkspaceType(directory, workspaceType);
  const initializers = [
    ...types.filter((item) => valueAt(item, "spec", "initializer") === true).map(fullNameOf),
    ...(types.some((item) => listAt(item, "spec", "defaultAPIBindings").length > 0) ? [bindingsInitializer] : []),
  ];
  const created = client.create(
    systemTypes.logicalClusters,
    { logicalCluster: name },
    {
      metadata: {
        name: "cluster",
        annotations: {
          [typeAnnotation]: type,
          [pathAnnotation]: path,
          ...(owner === undefined ? {} : { [workspaceOwnerAnnotation]: owner }),
        },
        finalizers: [logicalClusterFinalizer],
        labels: { [phaseLabel]: "Initializing" },
      },
      spec: {
        directlyDeletable: false,
        ...(initializers.length === 0 ? {} : { initializers }),
        ...(ownedBy === undefined ? {} : { owner: ownedBy }),
      },
    },
  );
  client.writeStatus(systemTypes.logicalClusters, { logicalCluster: name }, created, {
    URL: `${address()}/clusters/${name}`,
    phase: "Initializing",
    ...(initializers.length === 0 ? {} : { initializers }),
  });
}

/** Initializes a logical cluster: namespaces, the owner's admin binding, the default APIBindings of its type. */
export function reconcileLogicalCluster(world: ControllerWorld, logicalCluster: string): void {
  const { client, directory, clock } = world;
  const own = directory.logicalCluster(logicalCluster);
  if (own === undefined || own.metadata.deletionTimestamp !== undefined) return;
  if (textAt(own, "status", "phase") !== "Initializing") return;
  const type = workspaceTypeNamed(directory, own.metadata.annotations?.[typeAnnotation] ?? "");
  const types = type === undefined ? [] : resolveWorkspaceType(directory, type);
  const done = new Set<string>();
  if (textsAt(own, "status", "initializers").includes("root:universal")) {
    for (const name of ["default", "kube-system"]) {
      client.ensure(
        systemTypes.namespaces,
        { logicalCluster },
        {
          metadata: { name, annotations: { "bootstrap.kcp.io/create-only": "true" } },
        },
      );
    }
    done.add("root:universal");
  }
  const owner = own.metadata.annotations?.[workspaceOwnerAnnotation];
  if (owner !== undefined) bindOwnerAsAdmin(world, logicalCluster, owner);
  const waiting = types.flatMap((item) => bindDefaults(world, logicalCluster, item));
  if (waiting.length === 0) done.add(bindingsInitializer);

  const initializers = textsAt(own, "status", "initializers").filter((item) => !done.has(item));
  const conditions = kcpConditionsOf(valueAt(own, "status", "conditions"), clock.now());
  const isReady = initializers.length === 0;
  if (isReady) conditions.markTrue("WorkspaceInitialized");
  else {
    const message = `Initializers still exist: [${initializers.join(" ")}]`;
    conditions.markFalse("WorkspaceInitialized", { reason: "InitializerExists", severity: "Info", message });
  }
  const present = directory.logicalCluster(logicalCluster) ?? own;
  client.writeStatus(systemTypes.logicalClusters, { logicalCluster }, present, {
    ...recordAt(present, "status"),
    initializers: isReady ? undefined : initializers,
    phase: isReady ? "Ready" : "Initializing",
    conditions: conditions.list(),
  });
  if (!isReady) return;
  client.merge(systemTypes.logicalClusters, { logicalCluster }, "cluster", {
    metadata: {
      labels: { [phaseLabel]: "Ready" },
      ...(owner === undefined ? {} : { annotations: { [workspaceOwnerAnnotation]: ownerName(owner) } }),
    },
  });
  const parent = textAt(own, "spec", "owner", "cluster");
  if (parent !== "")
    world.loop.add({ kind: "workspace", logicalCluster: parent, name: textAt(own, "spec", "owner", "name") });
}

function bindOwnerAsAdmin({ client }: ControllerWorld, logicalCluster: string, owner: string): void {
  const parsed: unknown = JSON.parse(owner);
  if (!isFields(parsed)) return;
  client.ensure(
    systemTypes.clusterRoleBindings,
    { logicalCluster },
    {
      metadata: { name: "workspace-admin", annotations: { "internal.kcp.io/replicate": "apis.kcp.io,tenancy.kcp.io" } },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: textAt(parsed, "username") }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    },
  );
}

/** Binds the default exports of a type and accepts all their claims; returns the exports that are not bound yet. */
function bindDefaults({ client, directory }: ControllerWorld, logicalCluster: string, type: KubeObject): string[] {
  return listAt(type, "spec", "defaultAPIBindings").flatMap((reference) => {
    const referencedPath = textAt(reference, "path");
    const path = referencedPath === "" ? logicalClusterOf(type) : referencedPath;
    const exportName = textAt(reference, "export");
    const apiExport = directory.exportAt(path, exportName);
    if (apiExport === undefined) return [exportName];
    const isSame = (binding: KubeObject): boolean =>
      textAt(binding, "spec", "reference", "export", "path") === path &&
      textAt(binding, "spec", "reference", "export", "name") === exportName;
    const present = directory.bindings(logicalCluster).find(isSame);
    if (present === undefined) {
      const claims = exportClaims(apiExport).map((claim) => ({
        ...claim,
        selector: claim.defaultSelector ?? { matchAll: true },
        state: "Accepted",
      }));
      client.create(
        systemTypes.bindings,
        { logicalCluster },
        {
          metadata: { name: defaultBindingName(logicalCluster, path, exportName) },
          spec: {
            reference: { export: { path, name: exportName } },
            ...(claims.length === 0 ? {} : { permissionClaims: claims }),
          },
        },
      );
      return [exportName];
    }
    const conditions = kcpConditionsOf(valueAt(present, "status", "conditions"), 0);
    const isApplied =
      !bindingClaims(present).some(({ accepted }) => accepted) || conditions.isTrue("PermissionClaimsApplied");
    return conditions.isTrue("InitialBindingCompleted") && isApplied ? [] : [exportName];
  });
}

function deleteWorkspace(world: ControllerWorld, parent: string, workspace: KubeObject): void {
  const { client, directory } = world;
  const name = workspace.metadata.name ?? "";
  const finalizers = workspace.metadata.finalizers ?? [];
  if (workspace.metadata.labels?.[phaseLabel] !== "Deleting") {
    client.merge(systemTypes.workspaces, { logicalCluster: parent }, name, {
      metadata: { labels: { [phaseLabel]: "Deleting" } },
    });
  }
  // Finalizers of other controllers go first: they may still need the content.
  if (!finalizers.includes(workspaceFinalizer) || finalizers.length > 1) return;
  const logicalCluster = textAt(workspace, "spec", "cluster") || (workspace.metadata.annotations?.[clusterKey] ?? "");
  const own = logicalCluster === "" ? undefined : directory.logicalCluster(logicalCluster);
  if (own === undefined) {
    client.merge(systemTypes.workspaces, { logicalCluster: parent }, name, { metadata: { finalizers: [] } });
    return;
  }
  if (own.metadata.deletionTimestamp === undefined) {
    client.remove(client.definition(systemTypes.logicalClusters, logicalCluster), { logicalCluster }, "cluster");
  }
}
