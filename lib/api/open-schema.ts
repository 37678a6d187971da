import type { OpenApiSchema } from "./schema.ts";

// Schemas for types of Kubernetes' own groups that kcp serves from our export. kcp takes strategic merge patches for
// these groups and merges them by the exported schema, which has no way to say "merge this list by that key". What
// happens to a list or map that the patch and the object both have then depends on how the schema describes it:
//
//   an array                      replaced by the patch's fragment, silently
//   no `type` at all              everything inside is replaced, silently
//   an object with properties     merged field by field, by these same rules
//   an object without properties  merged if it holds scalars only; else the patch is refused
//   not described                 the patch is refused: unable to find api field "containers"
//
// So here an object always has a type and keeps what it does not know, an array is described only where Kubernetes
// replaces the list whole as well, and every list that Kubernetes merges by key is left out: such a patch fails, loses
// nothing, and the same change passes with `kubectl apply --server-side`.

/** An object that keeps the fields it does not name; name scalars, maps of scalars, further such objects and whole lists. */
export function open(
  properties: Readonly<Record<string, OpenApiSchema>>,
  rules: Readonly<{ description?: string; required?: readonly string[]; "x-kubernetes-map-type"?: "atomic" }> = {},
): OpenApiSchema {
  return { type: "object", ...rules, properties, "x-kubernetes-preserve-unknown-fields": true };
}

/** A list that Kubernetes itself always replaces whole. */
export function wholeList(items: OpenApiSchema): OpenApiSchema {
  return { type: "array", "x-kubernetes-list-type": "atomic", items };
}

export const anyObject: OpenApiSchema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
export const string: OpenApiSchema = { type: "string" };
export const moment: OpenApiSchema = { type: "string", format: "date-time" };
export const boolean: OpenApiSchema = { type: "boolean" };
export const int32: OpenApiSchema = { type: "integer", format: "int32" };
export const int64: OpenApiSchema = { type: "integer", format: "int64" };
export const count: OpenApiSchema = { ...int32, minimum: 0 };
export const intOrString: OpenApiSchema = { "x-kubernetes-int-or-string": true };
export const stringMap: OpenApiSchema = { type: "object", additionalProperties: string };
export const quantityMap: OpenApiSchema = { type: "object", additionalProperties: intOrString };

/** metav1.LabelSelector. */
export const labelSelector = open(
  {
    matchLabels: stringMap,
    matchExpressions: wholeList(open({ key: string, operator: string, values: wholeList(string) })),
  },
  { "x-kubernetes-map-type": "atomic" },
);

const objectMeta = open({ name: string, namespace: string, labels: stringMap, annotations: stringMap });

/** A pod template: what `kubectl rollout restart` and patches of scalars need; containers, volumes and the like are left out. */
export const podTemplate = open({
  metadata: objectMeta,
  spec: open({
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
    tolerations: wholeList(anyObject),
  }),
});

/** A template of something else than a pod. */
export function templateOf(spec: OpenApiSchema): OpenApiSchema {
  return open({ metadata: objectMeta, spec });
}
