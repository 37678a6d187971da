import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import type { Catalog, HookContext, ResourceDefinition } from "../definitions/definition.ts";
import { objectNotFound } from "../machinery/api-errors.ts";
import type { ObjectTarget, Operations, ResourceTarget, WriteContext } from "./operations.ts";
import type { Store, StoreKey } from "./store.ts";

/** Dependencies of all verbs. */
export type OperationsCore = Readonly<{
  store: Store;
  clock: Clock;
  /** Returns the types of a logical cluster; the name is empty on a Kubernetes cluster. */
  catalogOf: (logicalCluster: string) => Catalog;
  /** Like Math.random; injected, so that names and uids are reproducible. */
  random: () => number;
  /**
   * Objects since their creation, in kcp: kcp shows its cluster annotation on them but stores it with the first update,
   * so the first update always is a change. Undefined for Kubernetes clusters.
   */
  neverUpdated?: WeakSet<KubeObject> | undefined;
  /** For hooks. */
  operations: () => Operations;
}>;

export const storeKey = ({ definition, logicalCluster, namespace, name }: ObjectTarget): StoreKey => ({
  storage: definition.storage,
  logicalCluster,
  namespace: definition.namespaced ? (namespace ?? "") : "",
  name,
});

/** Returns the stored object; throws 404 if there is none. */
export function existingObject(core: OperationsCore, target: ObjectTarget): KubeObject {
  const object = core.store.get(storeKey(target));
  if (object === undefined) throw objectNotFound(target.definition, target.name);
  return object;
}

export const hookContext = (
  core: OperationsCore,
  { logicalCluster }: ResourceTarget,
  { user }: WriteContext,
): HookContext => ({
  logicalCluster,
  user,
  operations: core.operations(),
  now: core.clock.now(),
});

/** Formats a timestamp with whole seconds. */
export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");

const is = (definition: ResourceDefinition, group: string, plural: string): boolean =>
  definition.flavor === "builtin" && definition.group === group && definition.plural === plural;

/** Namespaces terminate in two steps; meanwhile nothing can be created in them. */
export const isNamespaces = ({ group, plural }: ResourceDefinition): boolean => group === "" && plural === "namespaces";
/** Pods have a grace period. */
export const isPods = (definition: ResourceDefinition): boolean => is(definition, "", "pods");

/** Nodes are created with their status; the status of other types is reset. */
export const keepsStatusOnCreate = (definition: ResourceDefinition): boolean => is(definition, "", "nodes");

/** For deployments, a change of annotations increments the generation. */
export const generationCountsAnnotations = (definition: ResourceDefinition): boolean =>
  is(definition, "apps", "deployments");

const createdByUpdate = new Set([
  "roles.rbac.authorization.k8s.io",
  "rolebindings.rbac.authorization.k8s.io",
  "clusterroles.rbac.authorization.k8s.io",
  "clusterrolebindings.rbac.authorization.k8s.io",
  "leases.coordination.k8s.io",
  "runtimeclasses.node.k8s.io",
  "limitranges",
  "events",
  "services",
  "endpoints",
]);

const lockedOnUpdate = new Set([
  "runtimeclasses.node.k8s.io",
  "poddisruptionbudgets.policy",
  "csidrivers.storage.k8s.io",
  "csinodes.storage.k8s.io",
  "csistoragecapacities.storage.k8s.io",
  "volumeattachments.storage.k8s.io",
  "leases.coordination.k8s.io",
  "validatingadmissionpolicies.admissionregistration.k8s.io",
  "validatingadmissionpolicybindings.admissionregistration.k8s.io",
  "mutatingadmissionpolicies.admissionregistration.k8s.io",
  "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
  "mutatingwebhookconfigurations.admissionregistration.k8s.io",
  "validatingwebhookconfigurations.admissionregistration.k8s.io",
  "apiservices.apiregistration.k8s.io",
  "customresourcedefinitions.apiextensions.k8s.io",
]);

const returnedOnDelete = new Set([
  "pods",
  "services",
  "serviceaccounts",
  "persistentvolumes",
  "persistentvolumeclaims",
  "podtemplates",
  "resourcequotas",
  "namespaces",
  "storageclasses.storage.k8s.io",
  "csidrivers.storage.k8s.io",
  "csinodes.storage.k8s.io",
  "volumeattachments.storage.k8s.io",
  "volumeattributesclasses.storage.k8s.io",
  "deviceclasses.resource.k8s.io",
  "resourceclaims.resource.k8s.io",
  "resourceclaimtemplates.resource.k8s.io",
  "resourceslices.resource.k8s.io",
]);

const isListedIn =
  (names: ReadonlySet<string>) =>
  ({ flavor, group, plural }: ResourceDefinition): boolean =>
    flavor === "builtin" && names.has(group === "" ? plural : `${plural}.${group}`);

/** A few built-in types are created by an update of a missing object. */
export const isCreatedByUpdate = isListedIn(createdByUpdate);
const isLockedOnUpdate = isListedIn(lockedOnUpdate);
/** Custom types and a few built-in types reject an update without resourceVersion. */
export const needsResourceVersion = (definition: ResourceDefinition): boolean =>
  definition.flavor !== "builtin" || isLockedOnUpdate(definition);
/** A deletion of these types returns the object; other types return a Status. */
export const isReturnedOnDelete = isListedIn(returnedOnDelete);
