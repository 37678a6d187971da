import type { KubeObject, ObjectMeta, ResourceType } from "@tmc/kube/kube-object.ts";
import { resourceNotFound } from "../api-errors.ts";
import { ApiFailure } from "../api-failure.ts";
import type { ResourceDefinition } from "../definition.ts";
import type { User } from "../http.ts";
import { isEqual } from "../machinery/json-value.ts";
import type { Operations, WriteContext } from "../operations.ts";
import type { Catalogs } from "./catalogs.ts";

/** kcp itself, as whom its controllers write. */
export const systemUser: User = { name: "system:apiserver", groups: ["system:masters", "system:authenticated"] };
const context: WriteContext = { user: systemUser, fieldManager: "kcp" };

/** The types that kcp's controllers write. */
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

export type Place = Readonly<{ cluster: string; namespace?: string | undefined }>;
type NamedMeta = ObjectMeta & Readonly<{ name: string }>;

/** Reads and writes in any logical cluster, with all rights; for kcp's own controllers. */
export interface SystemClient {
  find(type: ResourceType, place: Place, name: string): KubeObject | undefined;
  create(type: ResourceType, place: Place, object: Readonly<Record<string, unknown>>): KubeObject;
  /** Creates it unless one of that name is there. */
  ensure(type: ResourceType, place: Place, object: Readonly<{ metadata: NamedMeta } & Record<string, unknown>>): void;
  /** A merge patch on all but the status. */
  merge(type: ResourceType, place: Place, name: string, patch: object): KubeObject;
  /** Writes the status as given, where it differs. */
  writeStatus(
    type: ResourceType,
    place: Place,
    object: KubeObject,
    status: Readonly<Record<string, unknown>>,
  ): KubeObject;
  remove(definition: ResourceDefinition, place: Place, name: string): void;
  definition(type: ResourceType, cluster: string): ResourceDefinition;
}

export function createSystemClient(operations: Operations, catalogs: Catalogs): SystemClient {
  const definition = ({ group, version, plural }: ResourceType, cluster: string): ResourceDefinition => {
    const found = catalogs.of(cluster).find(group, version, plural);
    if (found === undefined) throw resourceNotFound();
    return found;
  };
  const client: SystemClient = {
    definition,
    find: (type, place, name) => {
      try {
        return operations.get({ definition: definition(type, place.cluster), ...place, name });
      } catch (error) {
        if (error instanceof ApiFailure && error.status.code === 404) return undefined;
        throw error;
      }
    },
    create: (type, place, object) => {
      const found = definition(type, place.cluster);
      const { group, version } = type;
      const metadata = typeof object.metadata === "object" ? { ...object.metadata } : {};
      return operations.create(
        { definition: found, ...place },
        { ...object, apiVersion: group === "" ? version : `${group}/${version}`, kind: found.kind, metadata },
        context,
      );
    },
    ensure: (type, place, object) => {
      if (client.find(type, place, object.metadata.name) === undefined) client.create(type, place, object);
    },
    merge: (type, place, name, patch) =>
      operations.patch(
        { definition: definition(type, place.cluster), ...place, name },
        { kind: "merge", body: patch },
        context,
      ).object,
    writeStatus: (type, place, object, status) => {
      const wanted = Object.fromEntries(Object.entries(status).filter(([, value]) => value !== undefined));
      if (isEqual(object.status ?? {}, wanted)) return object;
      const name = object.metadata.name ?? "";
      const target = { definition: definition(type, place.cluster), ...place, name };
      return operations.update(target, { ...object, status: wanted }, { ...context, subresource: "status" });
    },
    remove: (found, place, name) => {
      try {
        operations.delete({ definition: found, ...place, name }, { propagationPolicy: "Background" }, context);
      } catch (error) {
        if (!(error instanceof ApiFailure) || error.status.code !== 404) throw error;
      }
    },
  };
  return client;
}
