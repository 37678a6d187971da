import type { KubeObject, ObjectMeta, ResourceType } from "@tmc/kube/kube-object.ts";
import type { ResourceDefinition } from "../definitions/definition.ts";
import { ApiFailure, resourceNotFound } from "../machinery/api-errors.ts";
import { isEqual } from "../machinery/json-value.ts";
import type { User } from "../server/http.ts";
import type { Operations, WriteContext } from "../storage/operations.ts";
import type { Catalogs } from "./catalogs.ts";

/** The identity of kcp's own controllers. */
const kcpSystemUser: User = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };
const context: WriteContext = { user: kcpSystemUser, fieldManager: "kcp" };

/** Types that kcp's controllers write. */
export const systemTypes = {
  bindings: { group: "apis.kcp.io", version: "v1alpha2", plural: "apibindings" },
  exports: { group: "apis.kcp.io", version: "v1alpha2", plural: "apiexports" },
  schemas: { group: "apis.kcp.io", version: "v1alpha1", plural: "apiresourceschemas" },
  slices: { group: "apis.kcp.io", version: "v1alpha1", plural: "apiexportendpointslices" },
  logicalClusters: { group: "core.kcp.io", version: "v1alpha1", plural: "logicalclusters" },
  shards: { group: "core.kcp.io", version: "v1alpha1", plural: "shards" },
  workspaces: { group: "tenancy.kcp.io", version: "v1alpha1", plural: "workspaces" },
  workspaceTypes: { group: "tenancy.kcp.io", version: "v1alpha1", plural: "workspacetypes" },
  namespaces: { group: "", version: "v1", plural: "namespaces" },
  secrets: { group: "", version: "v1", plural: "secrets" },
  configMaps: { group: "", version: "v1", plural: "configmaps" },
  serviceAccounts: { group: "", version: "v1", plural: "serviceaccounts" },
  customDefinitions: { group: "apiextensions.k8s.io", version: "v1", plural: "customresourcedefinitions" },
  clusterRoles: { group: "rbac.authorization.k8s.io", version: "v1", plural: "clusterroles" },
  clusterRoleBindings: { group: "rbac.authorization.k8s.io", version: "v1", plural: "clusterrolebindings" },
} as const satisfies Record<string, ResourceType>;

export type Location = Readonly<{ logicalCluster: string; namespace?: string | undefined }>;
type NamedMeta = ObjectMeta & Readonly<{ name: string }>;

/** Reads and writes in any logical cluster without authorization; for kcp's own controllers. */
export interface SystemClient {
  find(type: ResourceType, location: Location, name: string): KubeObject | undefined;
  create(type: ResourceType, location: Location, object: Readonly<Record<string, unknown>>): KubeObject;
  /** Creates the object unless one with this name exists. */
  ensure(
    type: ResourceType,
    location: Location,
    object: Readonly<{ metadata: NamedMeta } & Record<string, unknown>>,
  ): void;
  /** Applies a merge patch to everything except the status. */
  merge(type: ResourceType, location: Location, name: string, patch: object): KubeObject;
  /** Replaces the status if it differs. */
  writeStatus(
    type: ResourceType,
    location: Location,
    object: KubeObject,
    status: Readonly<Record<string, unknown>>,
  ): KubeObject;
  remove(definition: ResourceDefinition, location: Location, name: string): void;
  definition(type: ResourceType, logicalCluster: string): ResourceDefinition;
}

export function createSystemClient(operations: Operations, catalogs: Catalogs): SystemClient {
  const definition = ({ group, version, plural }: ResourceType, logicalCluster: string): ResourceDefinition => {
    const found = catalogs.of(logicalCluster).find(group, version, plural);
    if (found === undefined) throw resourceNotFound();
    return found;
  };
  const client: SystemClient = {
    definition,
    find: (type, location, name) => {
      try {
        return operations.get({ definition: definition(type, location.logicalCluster), ...location, name });
      } catch (error) {
        if (error instanceof ApiFailure && error.status.code === 404) return undefined;
        throw error;
      }
    },
    create: (type, location, object) => {
      const found = definition(type, location.logicalCluster);
      const { group, version } = type;
      const metadata = typeof object.metadata === "object" ? { ...object.metadata } : {};
      return operations.create(
        { definition: found, ...location },
        { ...object, apiVersion: group === "" ? version : `${group}/${version}`, kind: found.kind, metadata },
        context,
      );
    },
    ensure: (type, location, object) => {
      if (client.find(type, location, object.metadata.name) === undefined) client.create(type, location, object);
    },
    merge: (type, location, name, patch) =>
      operations.patch(
        { definition: definition(type, location.logicalCluster), ...location, name },
        { kind: "merge", body: patch },
        context,
      ).object,
    writeStatus: (type, location, object, status) => {
      const desired = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
      if (isEqual(object.status ?? {}, desired)) return object;
      const name = object.metadata.name ?? "";
      const target = { definition: definition(type, location.logicalCluster), ...location, name };
      return operations.update(target, { ...object, status: desired }, { ...context, subresource: "status" });
    },
    remove: (found, location, name) => {
      try {
        operations.delete({ definition: found, ...location, name }, { propagationPolicy: "Background" }, context);
      } catch (error) {
        if (!(error instanceof ApiFailure) || error.status.code !== 404) throw error;
      }
    },
  };
  return client;
}
