import { clusterRegistration } from "./cluster-registration.ts";
import type { GroupResource } from "./export-access.ts";
import { offeredKinds } from "./kinds.ts";
import { workloadPlacement } from "./workload-placement.ts";
import { workloadTypes } from "./workload-types.ts";

/** A rule of an RBAC role. */
export type PolicyRule = Readonly<{
  apiGroups: readonly string[];
  resources: readonly string[];
  verbs: readonly string[];
}>;

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];
const readAndWrite = [...read, ...write];

// Rules list resources explicitly and never use `*`, which would include the status subresource that only TMC writes.
const scalable = workloadTypes.filter((type) => type.scale !== undefined);
const viewerRules: readonly PolicyRule[] = [
  ...rules(offeredKinds, read),
  ...rules(scalable, ["get"], "/scale"),
  { apiGroups: [""], resources: ["namespaces", "configmaps", "serviceaccounts", "events"], verbs: read },
];
const workloadRules: readonly PolicyRule[] = [
  ...rules(workloadTypes, write),
  ...rules(scalable, ["update", "patch"], "/scale"),
  { apiGroups: [""], resources: ["configmaps", "serviceaccounts"], verbs: write },
  { apiGroups: [""], resources: ["secrets"], verbs: readAndWrite },
];

/**
 * The ClusterRoles for users: `tmc:viewer` reads, `tmc:operator` also manages workloads and placements, and
 * `tmc:cluster-admin` also manages registrations and namespaces.
 */
export const clusterRoles = clusterRolesWith([]);

/** Returns the same roles, extended by further workload types. */
export function clusterRolesWith(customTypes: readonly GroupResource[]) {
  const viewer = [...viewerRules, ...rules(customTypes, read)];
  const work = [...workloadRules, ...rules(customTypes, write)];
  return [
    clusterRole("tmc:viewer", viewer),
    clusterRole("tmc:operator", [...viewer, ...work, ...rules([workloadPlacement], write)]),
    clusterRole("tmc:cluster-admin", [
      ...viewer,
      ...work,
      ...rules([clusterRegistration, workloadPlacement], write),
      { apiGroups: [""], resources: ["namespaces"], verbs: write },
    ]),
  ];
}

function clusterRole(name: string, rulesOfRole: readonly PolicyRule[]) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: rulesOfRole,
  };
}

/** Returns one rule per group, because a rule grants every combination of its groups and resources. */
function rules(types: readonly GroupResource[], verbs: readonly string[], subresource = ""): readonly PolicyRule[] {
  return [...new Set(types.map((type) => type.group))].map((group) => ({
    apiGroups: [group],
    resources: types.filter((type) => type.group === group).map((type) => `${type.plural}${subresource}`),
    verbs,
  }));
}
