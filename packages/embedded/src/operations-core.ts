import type { Clock } from "@tmc/kube/clock.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { objectNotFound } from "./api-errors.ts";
import type { Catalog, HookContext, ResourceDefinition } from "./definition.ts";
import type { ObjectTarget, Operations, Target, WriteContext } from "./operations.ts";
import type { Store, StoreKey } from "./store.ts";

/** What all verbs share. */
export type OperationsCore = Readonly<{
  store: Store;
  clock: Clock;
  /** What a logical cluster serves; for the plain cluster the name is empty. */
  catalogOf: (cluster: string) => Catalog;
  /** Between 0 and 1, as Math.random; handed in so that names and uids can be the same in every run. */
  random: () => number;
  /**
   * Objects as they were created: kcp shows its own annotation on them but stores it with the first rewrite only, so that
   * one counts as a change whatever it says. Undefined where servers have nothing of the kind.
   */
  unwritten?: WeakSet<KubeObject> | undefined;
  /** The finished operations, for hooks. */
  operations: () => Operations;
}>;

/** Where an object is kept. */
export const storeKey = ({ definition, cluster, namespace, name }: ObjectTarget): StoreKey => ({
  storage: definition.storage,
  cluster,
  namespace: definition.namespaced ? (namespace ?? "") : "",
  name,
});

/** The stored object, or 404. */
export function existingObject(core: OperationsCore, target: ObjectTarget): KubeObject {
  const object = core.store.get(storeKey(target));
  if (object === undefined) throw objectNotFound(target.definition, target.name);
  return object;
}

/** What a type's hooks get to know. */
export const hookContext = (core: OperationsCore, { cluster }: Target, { user }: WriteContext): HookContext => ({
  cluster,
  user,
  operations: core.operations(),
  now: core.clock.now(),
});

/** A time as Kubernetes writes it: whole seconds. */
export const timestamp = (milliseconds: number): string => new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");

const is = (definition: ResourceDefinition, group: string, plural: string): boolean =>
  definition.flavour === "builtin" && definition.group === group && definition.plural === plural;

/** Namespaces end in two steps, and nothing is created in them meanwhile. */
export const isNamespaces = ({ group, plural }: ResourceDefinition): boolean => group === "" && plural === "namespaces";
/** Pods are given time to end. */
export const isPods = (definition: ResourceDefinition): boolean => is(definition, "", "pods");

/** Nodes bring their status with them; all others start without. */
export const keepsStatusOnCreate = (definition: ResourceDefinition): boolean => is(definition, "", "nodes");

/** Deployments count a change of annotations as a change of what is wanted. */
export const countsAnnotations = (definition: ResourceDefinition): boolean => is(definition, "apps", "deployments");

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

const listed =
  (names: ReadonlySet<string>) =>
  ({ flavour, group, plural }: ResourceDefinition): boolean =>
    flavour === "builtin" && names.has(group === "" ? plural : `${plural}.${group}`);

/** A few built-in types are created by an update of what is not there. */
export const isCreatedByUpdate = listed(createdByUpdate);
const isLockedOnUpdate = listed(lockedOnUpdate);
/** Custom types and a few built-in ones refuse an update that does not say which version it is based on. */
export const needsResourceVersion = (definition: ResourceDefinition): boolean =>
  definition.flavour !== "builtin" || isLockedOnUpdate(definition);
/** A deletion answers the object for these, and a Status for all others. */
export const isReturnedOnDelete = listed(returnedOnDelete);
