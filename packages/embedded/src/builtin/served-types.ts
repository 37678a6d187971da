/** A built-in type as `group/version/plural`; the core group has an empty name. */
export type ServedType = `${string}/${string}/${string}`;

/** Types that kcp and clusters both serve. */
export const commonTypes: readonly ServedType[] = [
  "/v1/configmaps",
  "/v1/events",
  "/v1/limitranges",
  "/v1/namespaces",
  "/v1/resourcequotas",
  "/v1/secrets",
  "/v1/serviceaccounts",
  "admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
  "admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
  "apiextensions.k8s.io/v1/customresourcedefinitions",
  "authentication.k8s.io/v1/selfsubjectreviews",
  "authentication.k8s.io/v1/tokenreviews",
  "authorization.k8s.io/v1/localsubjectaccessreviews",
  "authorization.k8s.io/v1/selfsubjectaccessreviews",
  "authorization.k8s.io/v1/selfsubjectrulesreviews",
  "authorization.k8s.io/v1/subjectaccessreviews",
  "certificates.k8s.io/v1/certificatesigningrequests",
  "coordination.k8s.io/v1/leases",
  "events.k8s.io/v1/events",
  "rbac.authorization.k8s.io/v1/clusterrolebindings",
  "rbac.authorization.k8s.io/v1/clusterroles",
  "rbac.authorization.k8s.io/v1/rolebindings",
  "rbac.authorization.k8s.io/v1/roles",
];

/** Types that only clusters serve: kcp runs no workloads and has no nodes. */
export const clusterTypes: readonly ServedType[] = [
  "/v1/endpoints",
  "/v1/nodes",
  "/v1/persistentvolumeclaims",
  "/v1/persistentvolumes",
  "/v1/pods",
  "/v1/podtemplates",
  "/v1/replicationcontrollers",
  "/v1/services",
  "apps/v1/controllerrevisions",
  "apps/v1/daemonsets",
  "apps/v1/deployments",
  "apps/v1/replicasets",
  "apps/v1/statefulsets",
  "autoscaling/v2/horizontalpodautoscalers",
  "autoscaling/v1/horizontalpodautoscalers",
  "batch/v1/cronjobs",
  "batch/v1/jobs",
  "discovery.k8s.io/v1/endpointslices",
  "networking.k8s.io/v1/ingressclasses",
  "networking.k8s.io/v1/ingresses",
  "networking.k8s.io/v1/networkpolicies",
  "policy/v1/poddisruptionbudgets",
  "scheduling.k8s.io/v1/priorityclasses",
  "storage.k8s.io/v1/storageclasses",
];

/** Kinds that occur only as bodies and responses of subresources. */
export const subresourceKinds: readonly string[] = [
  "authentication.k8s.io/v1/TokenRequest",
  "autoscaling/v1/Scale",
  "policy/v1/Eviction",
  "/v1/Binding",
];
