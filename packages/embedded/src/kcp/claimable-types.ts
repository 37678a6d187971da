/** The built-in types that an export may claim, by group and plural. */
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

/** Tells whether a type is one that kcp itself serves in every workspace and lets exports claim. */
export const isBuiltinClaim = (group: string, resource: string): boolean => claimable.has(`${group}/${resource}`);

/** Types that are only asked and never stored: no object of theirs can carry a claim's label. */
export const isNeverStored = (group: string): boolean =>
  group === "authorization.k8s.io" || group === "authentication.k8s.io";
