import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { textAt } from "../fields.ts";
import type { Store } from "../store.ts";
import { clusterAnnotation, exportHash, exportLabel, pathAnnotation } from "./names.ts";

/** Where kcp's own kinds are kept; they are the same in every logical cluster. */
export const storages = {
  bindings: "apibindings.apis.kcp.io",
  exports: "apiexports.apis.kcp.io",
  schemas: "apiresourceschemas.apis.kcp.io",
  slices: "apiexportendpointslices.apis.kcp.io",
  logicalClusters: "logicalclusters.core.kcp.io",
} as const;

/** A segment of a path is a DNS label; `system:…` clusters are names of their own. */
const validPath = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Tells whether a text can be a logical cluster's name or path. */
export const isValidPath = (path: string): boolean => validPath.test(path);

/** Finds kcp's own objects: by the name of a logical cluster, or by the path that leads to it. */
export interface Directory {
  /** The `LogicalCluster` object of a logical cluster. */
  logicalCluster(cluster: string): KubeObject | undefined;
  /** The name of the logical cluster at a path; a name alone stands for itself. */
  clusterAt(path: string): string | undefined;
  /** The canonical path of a logical cluster. */
  pathOf(cluster: string): string;
  apiExport(cluster: string, name: string): KubeObject | undefined;
  exportAt(path: string, name: string): KubeObject | undefined;
  /** Every export with that identity. */
  exportsOfIdentity(identityHash: string): readonly KubeObject[];
  schema(cluster: string, name: string): KubeObject | undefined;
  workspaceTypeAt(path: string, name: string): KubeObject | undefined;
  bindings(cluster: string): readonly KubeObject[];
  /** Every binding to an export, wherever it is. */
  bindingsOf(exportCluster: string, exportName: string): readonly KubeObject[];
  /** Where a kind of `tenancy.kcp.io` is kept; it depends on the identity of the root's export. */
  tenancyStorage(plural: "workspaces" | "workspacetypes"): string;
}

/** The logical cluster that an object is in. */
export const clusterOf = (object: KubeObject): string => object.metadata.annotations?.[clusterAnnotation] ?? "";

export function createDirectory(store: Store): Directory {
  const one = (storage: string, cluster: string, name: string): KubeObject | undefined =>
    store.get({ storage, cluster, namespace: "", name });

  let tenancyIdentity = "";
  const tenancyStorage: Directory["tenancyStorage"] = (plural) => {
    if (tenancyIdentity === "") {
      tenancyIdentity = textAt(one(storages.exports, "root", "tenancy.kcp.io"), "status", "identityHash");
    }
    return `${plural}.tenancy.kcp.io:${tenancyIdentity}`;
  };

  const directory: Directory = {
    logicalCluster: (cluster) => one(storages.logicalClusters, cluster, "cluster"),
    clusterAt: (path) => {
      const [first = "", ...names] = path.split(":");
      let cluster = first;
      for (const name of names) {
        const workspace = one(tenancyStorage("workspaces"), cluster, name);
        // Until it is scheduled a workspace leads nowhere.
        if (workspace === undefined || textAt(workspace, "status", "phase") === "Scheduling") return undefined;
        cluster = textAt(workspace, "spec", "cluster");
      }
      return cluster === "" ? undefined : cluster;
    },
    pathOf: (cluster) => {
      const path = directory.logicalCluster(cluster)?.metadata.annotations?.[pathAnnotation];
      return path === undefined || path === "" ? cluster : path;
    },
    apiExport: (cluster, name) => one(storages.exports, cluster, name),
    exportAt: (path, name) => {
      const cluster = directory.clusterAt(path);
      return cluster === undefined ? undefined : one(storages.exports, cluster, name);
    },
    exportsOfIdentity: (identityHash) =>
      store.list(storages.exports).filter((item) => textAt(item, "status", "identityHash") === identityHash),
    schema: (cluster, name) => one(storages.schemas, cluster, name),
    workspaceTypeAt: (path, name) => {
      const cluster = directory.clusterAt(path);
      return cluster === undefined ? undefined : one(tenancyStorage("workspacetypes"), cluster, name);
    },
    bindings: (cluster) => store.list(storages.bindings, { cluster }),
    bindingsOf: (exportCluster, exportName) => {
      const hash = exportHash(exportCluster, exportName);
      return store.list(storages.bindings).filter((binding) => binding.metadata.labels?.[exportLabel] === hash);
    },
    tenancyStorage,
  };
  return directory;
}
