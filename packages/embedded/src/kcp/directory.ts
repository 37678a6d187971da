import { textAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Store } from "../storage/store.ts";
import { exportHash, exportLabel, kcpClusterAnnotation, pathAnnotation } from "./names.ts";

/** Storage names of kcp's own kinds; they are the same in every logical cluster. */
export const storages = {
  bindings: "apibindings.apis.kcp.io",
  exports: "apiexports.apis.kcp.io",
  schemas: "apiresourceschemas.apis.kcp.io",
  slices: "apiexportendpointslices.apis.kcp.io",
  logicalClusters: "logicalclusters.core.kcp.io",
} as const;

/** Segments are DNS labels. Names like `system:admin` are handled separately. */
const validPath = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

/** Whether a string can be the name or path of a logical cluster. */
export const isValidPath = (path: string): boolean => validPath.test(path);

/** Finds kcp's own objects by logical cluster or by workspace path. */
export interface Directory {
  /** Returns the `LogicalCluster` object of a logical cluster. */
  logicalCluster(logicalCluster: string): KubeObject | undefined;
  /** Resolves a workspace path to the name of its logical cluster; a name resolves to itself. */
  logicalClusterAt(path: string): string | undefined;
  pathOf(logicalCluster: string): string;
  apiExport(logicalCluster: string, name: string): KubeObject | undefined;
  exportAt(path: string, name: string): KubeObject | undefined;
  exportsOfIdentity(identityHash: string): readonly KubeObject[];
  schema(logicalCluster: string, name: string): KubeObject | undefined;
  workspaceTypeAt(path: string, name: string): KubeObject | undefined;
  bindings(logicalCluster: string): readonly KubeObject[];
  /** Lists the bindings to an export in all logical clusters. */
  bindingsOf(exportCluster: string, exportName: string): readonly KubeObject[];
  /** Storage name of a kind of `tenancy.kcp.io`; depends on the identity of the export in root. */
  tenancyStorage(plural: "workspaces" | "workspacetypes"): string;
}

/** The logical cluster of an object. */
export const logicalClusterOf = (object: KubeObject): string =>
  object.metadata.annotations?.[kcpClusterAnnotation] ?? "";

export function createDirectory(store: Store): Directory {
  const one = (storage: string, logicalCluster: string, name: string): KubeObject | undefined =>
    store.get({ storage, logicalCluster, namespace: "", name });

  let tenancyIdentity = "";
  const tenancyStorage: Directory["tenancyStorage"] = (plural) => {
    if (tenancyIdentity === "") {
      tenancyIdentity = textAt(one(storages.exports, "root", "tenancy.kcp.io"), "status", "identityHash");
    }
    return `${plural}.tenancy.kcp.io:${tenancyIdentity}`;
  };

  const directory: Directory = {
    logicalCluster: (logicalCluster) => one(storages.logicalClusters, logicalCluster, "cluster"),
    logicalClusterAt: (path) => {
      const [first = "", ...names] = path.split(":");
      let logicalCluster = first;
      for (const name of names) {
        const workspace = one(tenancyStorage("workspaces"), logicalCluster, name);
        // A workspace cannot be reached before it is scheduled.
        if (workspace === undefined || textAt(workspace, "status", "phase") === "Scheduling") return undefined;
        logicalCluster = textAt(workspace, "spec", "cluster");
      }
      return logicalCluster === "" ? undefined : logicalCluster;
    },
    pathOf: (logicalCluster) => {
      const path = directory.logicalCluster(logicalCluster)?.metadata.annotations?.[pathAnnotation];
      return path === undefined || path === "" ? logicalCluster : path;
    },
    apiExport: (logicalCluster, name) => one(storages.exports, logicalCluster, name),
    exportAt: (path, name) => {
      const logicalCluster = directory.logicalClusterAt(path);
      return logicalCluster === undefined ? undefined : one(storages.exports, logicalCluster, name);
    },
    exportsOfIdentity: (identityHash) =>
      store.list(storages.exports).filter((item) => textAt(item, "status", "identityHash") === identityHash),
    schema: (logicalCluster, name) => one(storages.schemas, logicalCluster, name),
    workspaceTypeAt: (path, name) => {
      const logicalCluster = directory.logicalClusterAt(path);
      return logicalCluster === undefined ? undefined : one(tenancyStorage("workspacetypes"), logicalCluster, name);
    },
    bindings: (logicalCluster) => store.list(storages.bindings, { logicalCluster }),
    bindingsOf: (exportCluster, exportName) => {
      const hash = exportHash(exportCluster, exportName);
      return store.list(storages.bindings).filter((binding) => binding.metadata.labels?.[exportLabel] === hash);
    },
    tenancyStorage,
  };
  return directory;
}
