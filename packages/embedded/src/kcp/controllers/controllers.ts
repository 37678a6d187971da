import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { textAt } from "../../fields.ts";
import type { Change } from "../../store.ts";
import { storages } from "../directory.ts";
import { systemTypes } from "../system-client.ts";
import type { VirtualWorkspaces } from "../virtual-workspace.ts";
import type { WorkKey } from "../work-loop.ts";
import { reconcileBinding } from "./bindings.ts";
import { reconcileExport, reconcileSlice } from "./exports.ts";
import { endLogicalCluster } from "./logical-cluster-deletion.ts";
import { reconcileLogicalCluster, reconcileWorkspace } from "./workspaces.ts";
import type { ControllerWorld } from "./world.ts";

/** Does one piece of work of kcp's controllers. */
export function work(
  world: ControllerWorld,
  virtualWorkspaces: VirtualWorkspaces,
  { kind, cluster, name }: WorkKey,
): void {
  switch (kind) {
    case "export":
      reconcileExport(world, cluster, name);
      virtualWorkspaces.refresh(cluster, name);
      break;
    case "slice":
      reconcileSlice(world, cluster, name);
      break;
    case "binding":
      reconcileBinding(world, cluster, name);
      break;
    case "workspace":
      reconcileWorkspace(world, cluster, name);
      break;
    case "logical-cluster":
      endLogicalCluster(world, cluster);
      reconcileLogicalCluster(world, cluster);
      break;
    case "namespace":
      fillNamespace(world, cluster, name);
      break;
    default:
      throw new Error(`embedded kcp: no controller for ${kind}`);
  }
}

const description =
  "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/** Every namespace has an account to run as and the certificate to trust. */
function fillNamespace({ client, ca }: ControllerWorld, cluster: string, namespace: string): void {
  const home = client.find(systemTypes.namespaces, { cluster }, namespace);
  if (home === undefined || home.metadata.deletionTimestamp !== undefined) return;
  client.ensure(systemTypes.serviceAccounts, { cluster, namespace }, { metadata: { name: "default" } });
  client.ensure(
    systemTypes.configMaps,
    { cluster, namespace },
    {
      metadata: { name: "kube-root-ca.crt", annotations: { "kubernetes.io/description": description } },
      data: { "ca.crt": ca() },
    },
  );
}

/** Tells which pieces of work a change in the store may call for. */
export function createTriggers({ directory, store, loop }: ControllerWorld): (change: Change) => void {
  /** Logical clusters in which something is on its way out. */
  const ending = new Map<string, Set<string>>();

  const addExport = (cluster: string, name: string): void => {
    loop.add({ kind: "export", cluster, name });
    for (const slice of store.list(storages.slices)) {
      if (textAt(slice, "spec", "export", "name") === name) addObject("slice", slice);
    }
    for (const binding of directory.bindingsOf(cluster, name)) addObject("binding", binding);
    // A binding can wait for an export that did not exist when it was made.
    for (const binding of store.list(storages.bindings)) {
      const isWaiting = textAt(binding, "status", "apiExportClusterName") === "";
      if (isWaiting && textAt(binding, "spec", "reference", "export", "name") === name) addObject("binding", binding);
    }
  };
  const addObject = (kind: string, object: KubeObject): void =>
    loop.add({
      kind,
      cluster: object.metadata.annotations?.["kcp.io/cluster"] ?? "",
      name: object.metadata.name ?? "",
    });

  return ({ type, key, object }) => {
    const { storage, cluster, name } = key;
    switch (storage) {
      case storages.exports:
        addExport(cluster, name);
        break;
      case storages.schemas:
        for (const apiExport of store.list(storages.exports, { cluster }))
          addExport(cluster, apiExport.metadata.name ?? "");
        break;
      case storages.slices:
        loop.add({ kind: "slice", cluster, name });
        break;
      case storages.bindings: {
        loop.add({ kind: "binding", cluster, name });
        loop.add({ kind: "logical-cluster", cluster, name: "cluster" });
        const exportName = textAt(object, "spec", "reference", "export", "name");
        for (const slice of store.list(storages.slices)) {
          if (textAt(slice, "spec", "export", "name") === exportName) addObject("slice", slice);
        }
        if (object.metadata.deletionTimestamp !== undefined && type !== "DELETED")
          remember(ending, cluster, `binding|${name}`);
        else forget(ending, cluster, `binding|${name}`);
        break;
      }
      case storages.logicalClusters:
        loop.add({ kind: "logical-cluster", cluster, name: "cluster" });
        addOwner(object);
        if (object.metadata.deletionTimestamp !== undefined && type !== "DELETED") {
          remember(ending, cluster, "logical-cluster|cluster");
        } else forget(ending, cluster, "logical-cluster|cluster");
        break;
      case directory.tenancyStorage("workspaces"):
        loop.add({ kind: "workspace", cluster, name });
        break;
      case "namespaces":
        if (type === "ADDED") loop.add({ kind: "namespace", cluster, name });
        break;
      default:
    }
    if (type !== "DELETED") return;
    for (const text of ending.get(cluster) ?? []) {
      const [kind = "", waiting = ""] = text.split("|");
      loop.add({ kind, cluster, name: waiting });
    }
  };

  function addOwner(object: KubeObject): void {
    const parent = textAt(object, "spec", "owner", "cluster");
    if (parent !== "") loop.add({ kind: "workspace", cluster: parent, name: textAt(object, "spec", "owner", "name") });
  }
}

function remember(sets: Map<string, Set<string>>, key: string, value: string): void {
  sets.set(key, (sets.get(key) ?? new Set()).add(value));
}

function forget(sets: Map<string, Set<string>>, key: string, value: string): void {
  const set = sets.get(key);
  set?.delete(value);
  if (set?.size === 0) sets.delete(key);
}
