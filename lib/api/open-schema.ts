import type { OpenApiSchema } from "./schema.ts";

// Schemas for types of the built-in Kubernetes groups that kcp serves from our export. kcp accepts strategic merge patches
// for these groups and merges them by the exported schema, which cannot declare merge keys. If both the patch and the object
// have a list or map, the result depends on how the schema describes it:
//
//   an array                      replaced by the patch's fragment, silently
//   no `type`                     replaced as a whole, silently
//   an object with properties     merged field by field, by these same rules
//   an object without properties  merged if it holds only scalars; otherwise the patch is rejected
//   not described                 the patch is rejected: unable to find api field "containers"
//
// Therefore every object here has a type and preserves unknown fields, an array is described only if Kubernetes also replaces
// the list as a whole, and lists that Kubernetes merges by key are omitted. A patch of such a list is rejected, so that
// nothing is lost, and the same change succeeds with `kubectl apply --server-side`.

/** An object that preserves unknown fields. Its properties may be scalars, maps of scalars, open objects and atomic lists. */
export function openObject(
  properties: Readonly<Record<string, OpenApiSchema>>,
  rules: Readonly<{ description?: string; required?: readonly string[]; "x-kubernetes-map-type"?: "atomic" }> = {},
): OpenApiSchema {
  return { type: "object", ...rules, properties, "x-kubernetes-preserve-unknown-fields": true };
}

/** A list that Kubernetes itself replaces as a whole. */
export function atomicList(items: OpenApiSchema): OpenApiSchema {
  return { type: "array", "x-kubernetes-list-type": "atomic", items };
}

export const anyObject: OpenApiSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
export const string: OpenApiSchema = { type: "string" };
export const dateTime: OpenApiSchema = { type: "string", format: "date-time" };
export const boolean: OpenApiSchema = { type: "boolean" };
export const int32: OpenApiSchema = { type: "integer", format: "int32" };
export const int64: OpenApiSchema = { type: "integer", format: "int64" };
export const count: OpenApiSchema = { ...int32, minimum: 0 };
export const intOrString: OpenApiSchema = { "x-kubernetes-int-or-string": true };
export const stringMap: OpenApiSchema = { type: "object", additionalProperties: string };
export const quantityMap: OpenApiSchema = { type: "object", additionalProperties: intOrString };

/** metav1.LabelSelector. */
export const labelSelector = openObject(
  {
    matchLabels: stringMap,
    matchExpressions: atomicList(openObject({ key: string, operator: string, values: atomicList(string) })),
  },
  { "x-kubernetes-map-type": "atomic" },
);

const objectMeta = openObject({ name: string, namespace: string, labels: stringMap, annotations: stringMap });

/** A pod template with the fields that `kubectl rollout restart` and patches of scalars need. Containers, volumes and other keyed lists are omitted. */
export const podTemplate = openObject({
  metadata: objectMeta,
  spec: openObject({
    activeDeadlineSeconds: int64,
    automountServiceAccountToken: boolean,
    dnsPolicy: string,
    enableServiceLinks: boolean,
    hostIPC: boolean,
    hostNetwork: boolean,
    hostPID: boolean,
    hostUsers: boolean,
    hostname: string,
    hostnameOverride: string,
    nodeName: string,
    nodeSelector: { ...stringMap, "x-kubernetes-map-type": "atomic" },
    preemptionPolicy: string,
    priority: int32,
    priorityClassName: string,
    restartPolicy: string,
    runtimeClassName: string,
    schedulerName: string,
    serviceAccount: string,
    serviceAccountName: string,
    setHostnameAsFQDN: boolean,
    shareProcessNamespace: boolean,
    subdomain: string,
    terminationGracePeriodSeconds: int64,
    tolerations: atomicList(anyObject),
  }),
});

/** A template with metadata and the given spec. */
export function templateSchema(spec: OpenApiSchema): OpenApiSchema {
  return openObject({ metadata: objectMeta, spec });
}
