import { valueAt } from "@tmc/kube/json.ts";
import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { type ClusterView, type ControlPlaneService, controlPlaneServices, type Pending } from "./cluster.ts";
import { type KubeconfigSecret, kplaneTemplate } from "./secret-template.ts";
import {
  accessFields,
  arrayAt,
  checkedSecret,
  checkedServer,
  parseConditions,
  type ReadContext,
  sourceOriginOf,
  templatedSecret,
  toRegistration,
  trimmedTextAt,
} from "./view.ts";

/** A ControlPlaneRegistration with the objects that it references. */
export type ControlPlaneRegistrationParts = Readonly<{
  registration: KubeObject;
  /** The ControlPlane that it names; undefined if it does not exist. */
  controlPlane: KubeObject | undefined;
  /** Returns the ControlPlaneEndpoints of a name, which may be in several namespaces. */
  endpointsOf: (name: string) => readonly KubeObject[];
}>;

type ResolvedEndpoint = Readonly<{ server: string }> | Pending;

/** Reads a ControlPlaneEndpoint. It names no credentials, so the secret template applies: kplane's, unless the operator sets another. */
export function readControlPlaneEndpoint(
  endpoint: KubeObject,
  { logicalCluster, template = kplaneTemplate }: Pick<ReadContext, "logicalCluster" | "template">,
): ClusterView {
  const origin = sourceOriginOf("controlplaneendpoint", logicalCluster, endpoint);
  const found = serverOf(endpoint);
  const secret = templatedSecret(template, origin);
  return {
    origin,
    ...registrationFields(endpoint, { found, secret, origin }, endpoint),
  };
}

/**
 * Reads a ControlPlaneRegistration as kplane resolves it.
 *
 * Endpoint: the one that the registration names, else the endpoint in the ControlPlane's status, else the one that the
 * ControlPlane names. A dangling reference makes the cluster pending; it is never skipped. Secret: the registration's, else
 * the one in the ControlPlane's status. The registration's own status is ignored, because it may be outdated.
 */
export function readControlPlaneRegistration(
  parts: ControlPlaneRegistrationParts,
  { logicalCluster, template = kplaneTemplate }: Pick<ReadContext, "logicalCluster" | "template">,
): ClusterView {
  const { registration, controlPlane } = parts;
  const origin = sourceOriginOf("controlplaneregistration", logicalCluster, registration);
  const asked = parseServices(registration);
  const found = asked.unknown ?? resolveEndpoint(parts);
  const secret = resolveSecret(parts, template.key);
  return {
    origin,
    ...registrationFields(registration, { found, secret, origin }, controlPlane, {
      // A control plane that is registered only for other services accepts no workloads.
      unschedulable: asked.services !== undefined && !asked.services.includes("Workloads"),
    }),
    services: asked.services,
  };
}

/** Returns the name of the ControlPlaneEndpoint that a registration uses; undefined if it uses none. */
export function endpointNameOf({
  registration,
  controlPlane,
}: Pick<ControlPlaneRegistrationParts, "registration" | "controlPlane">): string | undefined {
  const own = trimmedTextAt(registration, "spec", "endpointRef", "name");
  if (own !== "") return own;
  if (trimmedTextAt(controlPlane, "status", "endpoint") !== "") return undefined;
  return trimmedTextAt(controlPlane, "spec", "endpointRef", "name") || undefined;
}

/** Returns the name of the ControlPlane of a registration; empty if it names none. */
export function controlPlaneNameOf(registration: KubeObject): string {
  return trimmedTextAt(registration, "spec", "controlPlaneRef", "name");
}

type ResolvedAccess = Readonly<{
  found: ResolvedEndpoint;
  secret: KubeconfigSecret | Pending;
  origin: ClusterView["origin"];
}>;

/** Returns the view fields that endpoints and registrations share. The cluster's conditions are those of `conditionSource`. */
function registrationFields(
  object: KubeObject,
  { found, secret, origin }: ResolvedAccess,
  conditionSource: KubeObject | undefined,
  spec: Readonly<{ unschedulable?: boolean }> = {},
): Pick<ClusterView, "registration" | "endpoint" | "pending"> {
  const server = "server" in found ? found.server : undefined;
  const pointer = "reason" in secret ? undefined : secret;
  return {
    registration: toRegistration(
      object,
      { ...accessFields(origin, { secret: pointer, server }), ...spec },
      { conditions: [...parseConditions(conditionSource)] },
    ),
    endpoint: server,
    // kplane reports a missing endpoint before a missing kubeconfig.
    pending: "reason" in found ? found : "reason" in secret ? secret : undefined,
  };
}

function resolveEndpoint({ registration, controlPlane, endpointsOf }: ControlPlaneRegistrationParts): ResolvedEndpoint {
  const controlPlaneName = controlPlaneNameOf(registration);
  if (controlPlaneName === "") return pending("ControlPlaneRefMissing", "spec.controlPlaneRef.name is missing");
  if (controlPlane === undefined) {
    return pending("ControlPlaneNotFound", `control plane ${JSON.stringify(controlPlaneName)} does not exist`);
  }
  const name = endpointNameOf({ registration, controlPlane });
  if (name !== undefined) return selectEndpoint(name, registration, endpointsOf(name));
  const written = trimmedTextAt(controlPlane, "status", "endpoint");
  if (written !== "") return checkedServer(written);
  return pending("EndpointPending", `control plane ${JSON.stringify(controlPlaneName)} has no endpoint yet`);
}

function selectEndpoint(name: string, { metadata }: KubeObject, endpoints: readonly KubeObject[]): ResolvedEndpoint {
  const own = endpoints.find((endpoint) => endpoint.metadata.namespace === metadata.namespace);
  const [only, ...others] = own === undefined ? endpoints : [own];
  const what = `endpoint ${JSON.stringify(name)}`;
  if (only === undefined) return pending("EndpointPending", `${what} does not exist`);
  if (others.length > 0) {
    const where = endpoints.map((endpoint) => endpoint.metadata.namespace ?? "").toSorted();
    return pending("EndpointPending", `${what} is in several namespaces: ${where.join(", ")}`);
  }
  return serverOf(only);
}

/** Returns the server of a ControlPlaneEndpoint: external before internal, status before spec. */
function serverOf(endpoint: KubeObject): ResolvedEndpoint {
  const given = [
    ["status", "externalEndpoint"],
    ["spec", "externalEndpoint"],
    ["status", "endpoint"],
    ["spec", "endpoint"],
  ]
    .map((path) => trimmedTextAt(endpoint, ...path))
    .find((address) => address !== "");
  if (given !== undefined) return checkedServer(given);
  return pending("EndpointPending", `endpoint ${JSON.stringify(endpoint.metadata.name ?? "")} is empty`);
}

function resolveSecret(
  { registration, controlPlane }: ControlPlaneRegistrationParts,
  key: string,
): KubeconfigSecret | Pending {
  const override = valueAt(registration, "spec", "kubeconfigSecretRef");
  // An override that is set but names no secret is not skipped either.
  const reference = override ?? valueAt(controlPlane, "status", "kubeconfigSecretRef");
  const name = trimmedTextAt(reference, "name");
  if (name === "") return pending("KubeconfigPending", "the control plane has no kubeconfig secret yet");
  const own = registration.metadata.namespace;
  const namespace = trimmedTextAt(reference, "namespace");
  if (override === undefined || own === undefined) return checkedSecret({ namespace, name, key });
  // A user who may create registrations in one namespace must not make TMC read secrets of another namespace.
  if (namespace === "" || namespace === own) return checkedSecret({ namespace: own, name, key });
  return pending("KubeconfigPending", `secret ${JSON.stringify(name)} is not in the registration's own namespace`);
}

/** Parses the services, ignoring case: kplane's documentation and its type differ. */
function parseServices(registration: KubeObject): { services?: readonly ControlPlaneService[]; unknown?: Pending } {
  const words = arrayAt(registration, "spec", "services");
  if (words.length === 0) return {};
  const known = words.map((word) =>
    controlPlaneServices.find((service) => service.toLowerCase() === String(word).toLowerCase()),
  );
  const at = known.indexOf(undefined);
  if (at < 0) return { services: known.filter((service) => service !== undefined) };
  const message = `service ${JSON.stringify(words[at])} is not one of ${controlPlaneServices.join(", ")}`;
  return { services: [], unknown: pending("ServiceUnknown", message) };
}

const pending = (reason: Pending["reason"], message: string): Pending => ({ reason, message });
