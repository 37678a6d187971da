import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { valueAt } from "../model/json.ts";
import { type Pending, type Reading, type Service, services } from "./cluster.ts";
import { conditionsOf, listAt, trimmedTextAt } from "./fields.ts";
import { kplaneTemplate, type SecretPointer } from "./secret-template.ts";
import { checkedServer, namedSecret, originOf, type ReadingContext, renderedSecret, viewOf, wayIn } from "./view.ts";

/** A registration of a control plane with the objects that it may lead to. */
export type RegistrationParts = Readonly<{
  registration: KubeObject;
  /** The control plane that it names, where there is one. */
  controlPlane: KubeObject | undefined;
  /** The endpoints of a name; more than one where they are in different namespaces. */
  endpointsOf: (name: string) => readonly KubeObject[];
}>;

type Found = Readonly<{ server: string }> | Pending;

/** Reads an endpoint by itself. It names no credentials: the template says where they are, kplane's own unless another is given. */
export function readControlPlaneEndpoint(
  endpoint: KubeObject,
  { cluster, template = kplaneTemplate }: Pick<ReadingContext, "cluster" | "template">,
): Reading {
  const origin = originOf("controlplaneendpoint", cluster, endpoint);
  const found = serverOf(endpoint);
  const secret = renderedSecret(template, origin);
  return {
    origin,
    ...named(endpoint, { found, secret, origin }, endpoint),
  };
}

/**
 * Reads a registration the way kplane resolves it.
 *
 * The endpoint: the one that the registration names, else the control plane's status, else the endpoint that the control
 * plane names. A reference that leads nowhere is waited for, never skipped. The secret: the registration's, else that of the
 * control plane's status. What kplane has written into the registration's own status is not looked at: it may be old.
 */
export function readControlPlaneRegistration(
  parts: RegistrationParts,
  { cluster, template = kplaneTemplate }: Pick<ReadingContext, "cluster" | "template">,
): Reading {
  const { registration, controlPlane } = parts;
  const origin = originOf("controlplaneregistration", cluster, registration);
  const asked = servicesOf(registration);
  const found = asked.unknown ?? resolveEndpoint(parts);
  const secret = resolveSecret(parts, template.key);
  return {
    origin,
    ...named(registration, { found, secret, origin }, controlPlane, {
      // A control plane that is registered for other services only takes no work.
      unschedulable: asked.services !== undefined && !asked.services.includes("Workloads"),
    }),
    services: asked.services,
  };
}

/** The name of the endpoint that decides about a registration; undefined where none is asked. */
export function endpointNameOf({
  registration,
  controlPlane,
}: Pick<RegistrationParts, "registration" | "controlPlane">): string | undefined {
  const own = trimmedTextAt(registration, "spec", "endpointRef", "name");
  if (own !== "") return own;
  if (trimmedTextAt(controlPlane, "status", "endpoint") !== "") return undefined;
  return trimmedTextAt(controlPlane, "spec", "endpointRef", "name") || undefined;
}

/** The name of the control plane that a registration is for; empty where it names none. */
export function controlPlaneNameOf(registration: KubeObject): string {
  return trimmedTextAt(registration, "spec", "controlPlaneRef", "name");
}

type Access = Readonly<{ found: Found; secret: SecretPointer | Pending; origin: Reading["origin"] }>;

/** The parts of a reading that endpoints and registrations make alike; `judged` is the object whose conditions are the cluster's. */
function named(
  object: KubeObject,
  { found, secret, origin }: Access,
  judged: KubeObject | undefined,
  spec: Readonly<{ unschedulable?: boolean }> = {},
): Pick<Reading, "registration" | "endpoint" | "pending"> {
  const server = "server" in found ? found.server : undefined;
  const pointer = "reason" in secret ? undefined : secret;
  return {
    registration: viewOf(
      object,
      { ...wayIn(origin, { secret: pointer, server }), ...spec },
      { conditions: [...conditionsOf(judged)] },
    ),
    endpoint: server,
    // Without an endpoint nobody asks for the kubeconfig: one thing at a time, and in kplane's order.
    pending: "reason" in found ? found : "reason" in secret ? secret : undefined,
  };
}

function resolveEndpoint({ registration, controlPlane, endpointsOf }: RegistrationParts): Found {
  const controlPlaneName = controlPlaneNameOf(registration);
  if (controlPlaneName === "") return pending("ControlPlaneRefMissing", "spec.controlPlaneRef.name is missing");
  if (controlPlane === undefined) {
    return pending("ControlPlaneNotFound", `control plane ${JSON.stringify(controlPlaneName)} is not there`);
  }
  const name = endpointNameOf({ registration, controlPlane });
  if (name !== undefined) return chooseEndpoint(name, registration, endpointsOf(name));
  const written = trimmedTextAt(controlPlane, "status", "endpoint");
  if (written !== "") return checkedServer(written);
  return pending("EndpointPending", `control plane ${JSON.stringify(controlPlaneName)} has no endpoint yet`);
}

function chooseEndpoint(name: string, { metadata }: KubeObject, endpoints: readonly KubeObject[]): Found {
  const own = endpoints.find((endpoint) => endpoint.metadata.namespace === metadata.namespace);
  const [only, ...others] = own === undefined ? endpoints : [own];
  const what = `endpoint ${JSON.stringify(name)}`;
  if (only === undefined) return pending("EndpointPending", `${what} is not there`);
  if (others.length > 0) {
    const where = endpoints.map((endpoint) => endpoint.metadata.namespace ?? "").toSorted();
    return pending("EndpointPending", `${what} is in several namespaces: ${where.join(", ")}`);
  }
  return serverOf(only);
}

/** The address that an endpoint gives: the one for clients outside before the other, what was observed before what was asked for. */
function serverOf(endpoint: KubeObject): Found {
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

function resolveSecret({ registration, controlPlane }: RegistrationParts, key: string): SecretPointer | Pending {
  const override = valueAt(registration, "spec", "kubeconfigSecretRef");
  // An override that is there but names nothing is not skipped either.
  const reference = override ?? valueAt(controlPlane, "status", "kubeconfigSecretRef");
  const name = trimmedTextAt(reference, "name");
  if (name === "") return pending("KubeconfigPending", "the control plane has no kubeconfig secret yet");
  const own = registration.metadata.namespace;
  const namespace = trimmedTextAt(reference, "namespace");
  if (override === undefined || own === undefined) return namedSecret({ namespace, name, key });
  // Who may register in a namespace may not for that have us read the secrets of another.
  if (namespace === "" || namespace === own) return namedSecret({ namespace: own, name, key });
  return pending("KubeconfigPending", `secret ${JSON.stringify(name)} is not in the registration's own namespace`);
}

/** What it is registered for, in either case of letters: the design text and the type differ. */
function servicesOf(registration: KubeObject): { services?: readonly Service[]; unknown?: Pending } {
  const words = listAt(registration, "spec", "services");
  if (words.length === 0) return {};
  const known = words.map((word) => services.find((service) => service.toLowerCase() === String(word).toLowerCase()));
  const at = known.indexOf(undefined);
  if (at < 0) return { services: known.filter((service) => service !== undefined) };
  const message = `service ${JSON.stringify(words[at])} is not one of ${services.join(", ")}`;
  return { services: [], unknown: pending("ServiceUnknown", message) };
}

const pending = (reason: Pending["reason"], message: string): Pending => ({ reason, message });
