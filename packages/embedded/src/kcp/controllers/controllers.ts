import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { StorageChange } from "../../storage/store.ts";
import { storages } from "../directory.ts";
import { systemTypes } from "../system-client.ts";
import type { VirtualWorkspaces } from "../virtual-workspace.ts";
import type { KcpWorkKey } from "../work-loop.ts";
import { reconcileBinding } from "./bindings.ts";
import { reconcileExport, reconcileSlice } from "./exports.ts";
import { deleteLogicalClusterContent } from "./logical-cluster-deletion.ts";
import { reconcileLogicalCluster, reconcileWorkspace } from "./workspaces.ts";
import type { ControllerWorld } from "./world.ts";

/** Reconciles one key of kcp's work loop. */
export function reconcileKey(
  world: ControllerWorld,
  virtualWorkspaces: VirtualWorkspaces,
  { kind, logicalCluster, name }: KcpWorkKey,
): void {
  switch (kind) {
    case "export":
      reconcileExport(world, logicalCluster, name);
      virtualWorkspaces.refresh(logicalCluster, name);
      break;
    case "slice":
      reconcileSlice(world, logicalCluster, name);
      break;
    case "binding":
      reconcileBinding(world, logicalCluster, name);
      break;
    case "workspace":
      reconcileWorkspace(world, logicalCluster, name);
      break;
    case "logical-cluster":
      deleteLogicalClusterContent(world, logicalCluster);
      reconcileLogicalCluster(world, logicalCluster);
      break;
    case "namespace":
      ensureNamespaceDefaults(world, logicalCluster, name);
      break;
    default:
      throw new Error(`embedded kcp: no controller for ${kind}`);
  }
}

const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/** Creates the default service account and the CA bundle in a namespace. */
function ensureNamespaceDefaults({ client, ca }: ControllerWorld, logicalCluster: string, namespace: string): void {
  const namespaceObject = client.find(systemTypes.namespaces, { logicalCluster }, namespace);
  if (namespaceObject === undefined || namespaceObject.metadata.deletionTimestamp !== undefined) return;
  client.ensure(systemTypes.serviceAccounts, { logicalCluster, namespace }, { metadata: { name: "default" } });
  client.ensure(
    systemTypes.configMaps,
    { logicalCluster, namespace },
    {
      metadata: { name: "kube-root-ca.crt", annotations: { "kubernetes.io/description": description } },
      data: { "ca.crt": ca() },
    },
  );
}

/** Returns a store subscriber that enqueues the keys which a change may affect. */
export function createChangeHandler({ directory, store, loop }: ControllerWorld): (change: StorageChange) => void {
  /**
   * Logical clusters with terminating bindings, or that terminate themselves, and the keys to enqueue after each
   * deletion.
   */
  const deletionsInProgress = new Map<string, Set<string>>();

  const addExport = (logicalCluster: string, name: string): void => {
    loop.add({ kind: "export", logicalCluster, name });
    for (const slice of store.list(storages.slices)) {
      if (textAt(slice, "spec", "export", "name") === name) addObject("slice", slice);
    }
    for (const binding of directory.bindingsOf(logicalCluster, name)) addObject("binding", binding);
    // Bindings may have been created before their export.
    for (const binding of store.list(storages.bindings)) {
      const isWaiting = textAt(binding, "status", "apiExportClusterName") === "";
      if (isWaiting && textAt(binding, "spec", "reference", "export", "name") === name) addObject("binding", binding);
    }
  };
  const addObject = (kind: string, object: KubeObject): void =>
    loop.add({
      kind,
      logicalCluster: object.metadata.annotations?.["kcp.io/cluster"] ?? "",
      name: object.metadata.name ?? "",
    });

  return ({ type, key, object }) => {
    const { storage, logicalCluster, name } = key;
    switch (storage) {
      case storages.exports:
        addExport(logicalCluster, name);
        break;
      case storages.schemas:
        for (const apiExport of store.list(storages.exports, { logicalCluster }))
          addExport(logicalCluster, apiExport.metadata.name ?? "");
        break;
      case storages.slices:
        loop.add({ kind: "slice", logicalCluster, name });
        break;
      case storages.bindings: {
        loop.add({ kind: "binding", logicalCluster, name });
        loop.add({ kind: "logical-cluster", logicalCluster, name: "cluster" });
        const exportName = textAt(object, "spec", "reference", "export", "name");
        for (const slice of store.list(storages.slices)) {
          if (textAt(slice, "spec", "export", "name") === exportName) addObject("slice", slice);
        }
        if (object.metadata.deletionTimestamp !== undefined && type !== "DELETED")
          addToSet(deletionsInProgress, logicalCluster, `binding|${name}`);
        else removeFromSet(deletionsInProgress, logicalCluster, `binding|${name}`);
        break;
      }
      case storages.logicalClusters:
        loop.add({ kind: "logical-cluster", logicalCluster, name: "cluster" });
        addOwner(object);
        if (object.metadata.deletionTimestamp !== undefined && type !== "DELETED") {
          addToSet(deletionsInProgress, logicalCluster, "logical-cluster|cluster");
        } else removeFromSet(deletionsInProgress, logicalCluster, "logical-cluster|cluster");
        break;
      case directory.tenancyStorage("workspaces"):
        loop.add({ kind: "workspace", logicalCluster, name });
        break;
      case "namespaces":
        if (type === "ADDED") loop.add({ kind: "namespace", logicalCluster, name });
        break;
      default:
    }
    if (type !== "DELETED") return;
    for (const text of deletionsInProgress.get(logicalCluster) ?? []) {
      const [kind = "", waiting = ""] = text.split("|");
      loop.add({ kind, logicalCluster, name: waiting });
    }
  };

  function addOwner(object: KubeObject): void {
    const parent = textAt(object, "spec", "owner", "cluster");
    if (parent !== "")
      loop.add({ kind: "workspace", logicalCluster: parent, name: textAt(object, "spec", "owner", "name") });
  }
}

function addToSet(sets: Map<string, Set<string>>, key: string, value: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function removeFromSet(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
