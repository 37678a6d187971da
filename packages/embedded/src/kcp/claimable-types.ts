/** Built-in types that an export may claim, as `group/plural`. */
const claimable: ReadonlySet<string> = new Set([
  "/namespaces",
  "/configmaps",
  "/events",
  "/resourcequotas",
  "/secrets",
  "/serviceaccounts",
  "events.k8s.io/events",
  "rbac.authorization.k8s.io/clusterroles",
  "rbac.authorization.k8s.io/clusterrolebindings",
  "rbac.authorization.k8s.io/roles",
  "rbac.authorization.k8s.io/rolebindings",
  "certificates.k8s.io/certificatesigningrequests",
  "coordination.k8s.io/leases",
  "admissionregistration.k8s.io/mutatingwebhookconfigurations",
  "admissionregistration.k8s.io/validatingwebhookconfigurations",
  "admissionregistration.k8s.io/validatingadmissionpolicies",
  "admissionregistration.k8s.io/validatingadmissionpolicybindings",
  "admissionregistration.k8s.io/mutatingadmissionpolicies",
  "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
  "apiextensions.k8s.io/customresourcedefinitions",
  "core.kcp.io/logicalclusters",
  "authorization.k8s.io/subjectaccessreviews",
  "authorization.k8s.io/localsubjectaccessreviews",
]);

/** Whether kcp serves the type in every workspace and lets exports claim it. */
export const isBuiltinClaim = (group: string, resource: string): boolean => claimable.has(`${group}/${resource}`);

/** Review types are never stored, so no object can carry a claim label. */
export const isNeverStored = (group: string): boolean =>
  group === "authorization.k8s.io" || group === "authentication.k8s.io";
