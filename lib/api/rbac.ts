import { clusterRegistration } from "./cluster-registration.ts";
import type { NamedType } from "./export-access.ts";
import { offeredKinds } from "./kinds.ts";
import { workloadPlacement } from "./workload-placement.ts";
import { workloadTypes } from "./workload-types.ts";

type Rule = Readonly<{ apiGroups: readonly string[]; resources: readonly string[]; verbs: readonly string[] }>;

const read = ["get", "list", "watch"];
const write = ["create", "update", "patch", "delete", "deletecollection"];
const readAndWrite = [...read, ...write];

// Rules name their resources one by one, never `*`: a status is a subresource that only TMC writes.
const scalable = workloadTypes.filter((type) => type.scale !== undefined);
const viewerRules: readonly Rule[] = [
  ...rules(offeredKinds, read),
  ...rules(scalable, ["get"], "/scale"),
  { apiGroups: [""], resources: ["namespaces", "configmaps", "serviceaccounts", "events"], verbs: read },
];
const workRules: readonly Rule[] = [
  ...rules(workloadTypes, write),
  ...rules(scalable, ["update", "patch"], "/scale"),
  { apiGroups: [""], resources: ["configmaps", "serviceaccounts"], verbs: write },
  { apiGroups: [""], resources: ["secrets"], verbs: readAndWrite },
];

/** Roles for people: one who looks, one who runs work, one who also decides which clusters there are. */
export const clusterRoles = clusterRolesWith([]);

/** The same roles, with more types of workloads. */
export function clusterRolesWith(more: readonly NamedType[]) {
  const viewer = [...viewerRules, ...rules(more, read)];
  const work = [...workRules, ...rules(more, write)];
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

function clusterRole(name: string, itsRules: readonly Rule[]) {
  return {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    metadata: { name },
    rules: itsRules,
  };
}

/** One rule for each group, since a rule's groups and resources are combined each with each. */
function rules(types: readonly NamedType[], verbs: readonly string[], subresource = ""): readonly Rule[] {
  return [...new Set(types.map((type) => type.group))].map((group) => ({
    apiGroups: [group],
    resources: types.filter((type) => type.group === group).map((type) => `${type.plural}${subresource}`),
    verbs,
  }));
}
