import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { listAt, objectAt, textAt, textsAt, valueAt } from "../../fields.ts";
import { isObject } from "../../machinery/json-value.ts";
import { bindingClaims, exportClaims } from "../claims.ts";
import { conditionsOf } from "../conditions.ts";
import { clusterOf } from "../directory.ts";
import {
  clusterName,
  defaultBindingName,
  logicalClusterFinalizer,
  ownerAnnotation,
  pathAnnotation,
  phaseLabel,
  shardHash,
  typeAnnotation,
  workspaceFinalizer,
} from "../names.ts";
import { systemTypes } from "../system-client.ts";
import { fullNameOf, resolveWorkspaceType, typeNamed } from "../workspace-types.ts";
import type { ControllerWorld } from "./world.ts";

const bindingsInitializer = "system:apibindings";
const clusterKey = "internal.tenancy.kcp.io/cluster";
const shardKey = "internal.tenancy.kcp.io/shard";

/** Brings a workspace forward: from a request over a logical cluster of its own to `Ready`, and in the end away. */
export function reconcileWorkspace(world: ControllerWorld, parent: string, name: string): void {
  const { client, directory, clock, delays, loop } = world;
  const workspace = client.find(systemTypes.workspaces, { cluster: parent }, name);
  if (workspace === undefined || valueAt(workspace, "spec", "mount") !== undefined) return;
  if (workspace.metadata.deletionTimestamp !== undefined) {
    endWorkspace(world, parent, workspace);
    return;
  }
  if (textAt(workspace, "spec", "cluster") === "") {
    schedule(world, parent, workspace);
    return;
  }
  const conditions = conditionsOf(valueAt(workspace, "status", "conditions"), clock.now());
  const own = directory.logicalCluster(textAt(workspace, "spec", "cluster"));
  const status: Record<string, unknown> = { ...objectAt(workspace, "status") };
  if (textAt(status, "phase") === "Scheduling") {
    status.phase = "Initializing";
    conditions.markTrue("WorkspaceScheduled");
  }
  const initializers = textsAt(own, "status", "initializers");
  const waitMs = (delays().workspaceMs ?? 0) - (clock.now() - Date.parse(workspace.metadata.creationTimestamp ?? ""));
  if (textAt(status, "phase") === "Initializing") {
    if (waitMs > 0) loop.addAfter(waitMs, { kind: "workspace", cluster: parent, name });
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
  const written = client.writeStatus(systemTypes.workspaces, { cluster: parent }, workspace, status);
  mark(world, parent, written, textAt(status, "phase"));
}

/** Once it is ready a workspace only tells its owner's name. */
function mark({ client }: ControllerWorld, cluster: string, workspace: KubeObject, phase: string): void {
  const owner = workspace.metadata.annotations?.[ownerAnnotation];
  const short = owner === undefined || phase !== "Ready" ? owner : ownerName(owner);
  if (workspace.metadata.labels?.[phaseLabel] === phase && short === owner) return;
  client.merge(systemTypes.workspaces, { cluster }, workspace.metadata.name ?? "", {
    metadata: {
      labels: { [phaseLabel]: phase },
      ...(short === undefined ? {} : { annotations: { [ownerAnnotation]: short } }),
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
  let cluster = clusterName(random);
  while (directory.logicalCluster(cluster) !== undefined) cluster = clusterName(random);
  const path = `${directory.pathOf(parent)}:${name}`;
  const marked = client.merge(systemTypes.workspaces, { cluster: parent }, name, {
    metadata: {
      annotations: { [clusterKey]: cluster, [shardKey]: shardHash },
      labels: { [phaseLabel]: "Scheduling" },
      finalizers: [
        ...(workspace.metadata.finalizers ?? []).filter((item) => item !== workspaceFinalizer),
        workspaceFinalizer,
      ],
    },
  });
  const type = `${textAt(workspace, "spec", "type", "path")}:${textAt(workspace, "spec", "type", "name")}`;
  const owner = marked.metadata.annotations?.[ownerAnnotation];
  createLogicalCluster(world, {
    cluster,
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
  client.merge(systemTypes.workspaces, { cluster: parent }, name, {
    spec: { cluster, URL: `${address()}/clusters/${path}` },
  });
}

export type NewLogicalCluster = Readonly<{
  cluster: string;
  path: string;
  /** The full name of its workspace type. */
  type: string;
  /** The owner's user, as the workspace's annotation has it. */
  owner?: string;
  ownedBy?: Readonly<Record<string, string>>;
}>;

/** Makes a logical cluster: the object that stands for it, and what kcp puts into every new one. */
export function createLogicalCluster(
  { client, directory, address }: ControllerWorld,
  { cluster, path, type, owner, ownedBy }: NewLogicalCluster,
): void {
  const workspaceType = typeNamed(directory, type);
  const types = workspaceType === undefined ? [] : resolveWorkspaceType(directory, workspaceType);
  const initializers = [
    ...types.filter((item) => valueAt(item, "spec", "initializer") === true).map(fullNameOf),
    ...(types.some((item) => listAt(item, "spec", "defaultAPIBindings").length > 0) ? [bindingsInitializer] : []),
  ];
  const created = client.create(
    systemTypes.logicalClusters,
    { cluster },
    {
      metadata: {
        name: "cluster",
        annotations: {
          [typeAnnotation]: type,
          [pathAnnotation]: path,
          ...(owner === undefined ? {} : { [ownerAnnotation]: owner }),
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
  client.writeStatus(systemTypes.logicalClusters, { cluster }, created, {
    URL: `${address()}/clusters/${cluster}`,
    phase: "Initializing",
    ...(initializers.length === 0 ? {} : { initializers }),
  });
}

/** Initializes a logical cluster: namespaces, its owner's rights, the bindings of its type. */
export function reconcileLogicalCluster(world: ControllerWorld, cluster: string): void {
  const { client, directory, clock } = world;
  const own = directory.logicalCluster(cluster);
  if (own === undefined || own.metadata.deletionTimestamp !== undefined) return;
  if (textAt(own, "status", "phase") !== "Initializing") return;
  const type = typeNamed(directory, own.metadata.annotations?.[typeAnnotation] ?? "");
  const types = type === undefined ? [] : resolveWorkspaceType(directory, type);
  const done = new Set<string>();
  if (textsAt(own, "status", "initializers").includes("root:universal")) {
    for (const name of ["default", "kube-system"]) {
      client.ensure(
        systemTypes.namespaces,
        { cluster },
        {
          metadata: { name, annotations: { "bootstrap.kcp.io/create-only": "true" } },
        },
      );
    }
    done.add("root:universal");
  }
  const owner = own.metadata.annotations?.[ownerAnnotation];
  if (owner !== undefined) makeOwnerAdmin(world, cluster, owner);
  const waiting = types.flatMap((item) => bindDefaults(world, cluster, item));
  if (waiting.length === 0) done.add(bindingsInitializer);

  const initializers = textsAt(own, "status", "initializers").filter((item) => !done.has(item));
  const conditions = conditionsOf(valueAt(own, "status", "conditions"), clock.now());
  const isReady = initializers.length === 0;
  if (isReady) conditions.markTrue("WorkspaceInitialized");
  else {
    const message = `Initializers still exist: [${initializers.join(" ")}]`;
    conditions.markFalse("WorkspaceInitialized", { reason: "InitializerExists", severity: "Info", message });
  }
  const present = directory.logicalCluster(cluster) ?? own;
  client.writeStatus(systemTypes.logicalClusters, { cluster }, present, {
    ...objectAt(present, "status"),
    initializers: isReady ? undefined : initializers,
    phase: isReady ? "Ready" : "Initializing",
    conditions: conditions.list(),
  });
  if (!isReady) return;
  client.merge(systemTypes.logicalClusters, { cluster }, "cluster", {
    metadata: {
      labels: { [phaseLabel]: "Ready" },
      ...(owner === undefined ? {} : { annotations: { [ownerAnnotation]: ownerName(owner) } }),
    },
  });
  const parent = textAt(own, "spec", "owner", "cluster");
  if (parent !== "") world.loop.add({ kind: "workspace", cluster: parent, name: textAt(own, "spec", "owner", "name") });
}

function makeOwnerAdmin({ client }: ControllerWorld, cluster: string, owner: string): void {
  const parsed: unknown = JSON.parse(owner);
  if (!isObject(parsed)) return;
  client.ensure(
    systemTypes.clusterRoleBindings,
    { cluster },
    {
      metadata: { name: "workspace-admin", annotations: { "internal.kcp.io/replicate": "apis.kcp.io,tenancy.kcp.io" } },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: textAt(parsed, "username") }],
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    },
  );
}

/** Binds the default exports of a type, with all that they claim; answers those that are not bound yet. */
function bindDefaults({ client, directory }: ControllerWorld, cluster: string, type: KubeObject): string[] {
  return listAt(type, "spec", "defaultAPIBindings").flatMap((reference) => {
    const given = textAt(reference, "path");
    const path = given === "" ? clusterOf(type) : given;
    const exportName = textAt(reference, "export");
    const apiExport = directory.exportAt(path, exportName);
    if (apiExport === undefined) return [exportName];
    const isSame = (binding: KubeObject): boolean =>
      textAt(binding, "spec", "reference", "export", "path") === path &&
      textAt(binding, "spec", "reference", "export", "name") === exportName;
    const present = directory.bindings(cluster).find(isSame);
    if (present === undefined) {
      const claims = exportClaims(apiExport).map((claim) => ({
        ...claim,
        selector: claim.defaultSelector ?? { matchAll: true },
        state: "Accepted",
      }));
      client.create(
        systemTypes.bindings,
        { cluster },
        {
          metadata: { name: defaultBindingName(cluster, path, exportName) },
          spec: {
            reference: { export: { path, name: exportName } },
            ...(claims.length === 0 ? {} : { permissionClaims: claims }),
          },
        },
      );
      return [exportName];
    }
    const conditions = conditionsOf(valueAt(present, "status", "conditions"), 0);
    const isApplied =
      !bindingClaims(present).some(({ accepted }) => accepted) || conditions.isTrue("PermissionClaimsApplied");
    return conditions.isTrue("InitialBindingCompleted") && isApplied ? [] : [exportName];
  });
}

function endWorkspace(world: ControllerWorld, parent: string, workspace: KubeObject): void {
  const { client, directory } = world;
  const name = workspace.metadata.name ?? "";
  const finalizers = workspace.metadata.finalizers ?? [];
  if (workspace.metadata.labels?.[phaseLabel] !== "Deleting") {
    client.merge(systemTypes.workspaces, { cluster: parent }, name, {
      metadata: { labels: { [phaseLabel]: "Deleting" } },
    });
  }
  // Others' finalizers come first: they may still need what is inside.
  if (!finalizers.includes(workspaceFinalizer) || finalizers.length > 1) return;
  const cluster = textAt(workspace, "spec", "cluster") || (workspace.metadata.annotations?.[clusterKey] ?? "");
  const own = cluster === "" ? undefined : directory.logicalCluster(cluster);
  if (own === undefined) {
    client.merge(systemTypes.workspaces, { cluster: parent }, name, { metadata: { finalizers: [] } });
    return;
  }
  if (own.metadata.deletionTimestamp === undefined) {
    client.remove(client.definition(systemTypes.logicalClusters, cluster), { cluster }, "cluster");
  }
}
