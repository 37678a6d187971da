import type { SourceType } from "../../../lib/sources/source-kinds.ts";
import {
  controlPlaneEndpoints,
  controlPlaneRegistrations,
  controlPlanes,
  syncTargets,
} from "../../../lib/sources/source-kinds.ts";
import { aDefinition, type Scope } from "../../support/definition.ts";

const text = { type: "string" };
const flag = { type: "boolean" };
const texts = { type: "object", additionalProperties: text };
const object = (properties: object): object => ({ type: "object", properties });
const list = (items: object): object => ({ type: "array", items });
const reference = object({ name: text });
const secretReference = object({ name: text, namespace: text });
const conditions = list(object({ type: text, status: text, reason: text, message: text, lastTransitionTime: text }));

function definition(
  type: SourceType,
  kind: string,
  { scope = "Cluster", spec, status }: Readonly<{ scope?: Scope; spec: object; status: object }>,
): object {
  return aDefinition(type, kind, { spec: object(spec), status: object(status) }, scope);
}

/** SyncTarget with the fields of all documented schemas. */
export const syncTargetDefinition = definition(syncTargets, "SyncTarget", {
  spec: {
    unschedulable: flag,
    evictAfter: text,
    cells: texts,
    apiServerURL: text,
    capabilities: list(object({ type: text, available: flag, resource: text, capacity: text })),
    workloadCluster: object({
      name: text,
      endpoint: text,
      credentials: object({ secretRef: secretReference, serviceAccountRef: secretReference }),
    }),
  },
  status: { conditions, lastSyncerHeartbeatTime: text, allocatable: { ...texts }, syncerIdentifier: text },
});

const addresses = { endpoint: text, externalEndpoint: text, joinEndpoint: text };

/** ControlPlaneEndpoint, which exists in both scopes. */
export const endpointDefinition = (scope: Scope): object =>
  definition(controlPlaneEndpoints, "ControlPlaneEndpoint", {
    scope,
    spec: addresses,
    status: { ...addresses, conditions },
  });

/** ControlPlane. */
export const controlPlaneDefinition = definition(controlPlanes, "ControlPlane", {
  spec: { classRef: reference, mode: text, endpointRef: reference },
  status: { endpoint: text, kubeconfigSecretRef: secretReference, conditions },
});

/** ControlPlaneRegistration; namespaced if tenants write it. */
export const controlPlaneRegistrationDefinition = (scope: Scope): object =>
  definition(controlPlaneRegistrations, "ControlPlaneRegistration", {
    scope,
    spec: {
      controlPlaneRef: reference,
      endpointRef: reference,
      kubeconfigSecretRef: secretReference,
      services: list(text),
      mode: text,
    },
    status: { ready: flag, resolvedEndpoint: text, resolvedKubeconfigSecretRef: secretReference, conditions },
  });
