import { describe, expect, it } from "vitest";
import { clusterRoles } from "../../../lib/api/rbac.ts";

function canI(role: string, verb: string, group: string, resource: string): boolean {
  const found = clusterRoles.find(({ metadata }) => metadata.name === `tmc:${role}`);
  if (found === undefined) throw new Error(`no role ${role}`);
  return found.rules.some(
    (rule) => rule.apiGroups.includes(group) && rule.resources.includes(resource) && rule.verbs.includes(verb),
  );
}

type Row = readonly [verb: string, group: string, resource: string, roles: string];
const rows: readonly Row[] = [
  ["list", "tmc.kcp.io", "clusterregistrations", "viewer operator cluster-admin"],
  ["watch", "tmc.kcp.io", "workloadsyncs", "viewer operator cluster-admin"],
  ["get", "apps", "deployments", "viewer operator cluster-admin"],
  ["get", "apps", "deployments/scale", "viewer operator cluster-admin"],
  ["list", "", "configmaps", "viewer operator cluster-admin"],
  ["get", "", "secrets", "operator cluster-admin"],
  ["list", "", "secrets", "operator cluster-admin"],
  ["create", "apps", "deployments", "operator cluster-admin"],
  ["update", "apps", "deployments/scale", "operator cluster-admin"],
  ["delete", "networking.k8s.io", "ingresses", "operator cluster-admin"],
  ["create", "tmc.kcp.io", "workloadplacements", "operator cluster-admin"],
  ["create", "tmc.kcp.io", "clusterregistrations", "cluster-admin"],
  ["delete", "tmc.kcp.io", "clusterregistrations", "cluster-admin"],
  ["create", "", "namespaces", "cluster-admin"],
  // Only TMC writes these.
  ["update", "tmc.kcp.io", "workloadsyncs", ""],
  ["patch", "tmc.kcp.io", "clusterregistrations/status", ""],
  ["patch", "tmc.kcp.io", "workloadplacements/status", ""],
  ["patch", "apps", "deployments/status", ""],
  ["update", "apps", "services", ""],
];

describe("ClusterRoles for users", () => {
  it.each(rows)("the verb %s on %s/%s is granted to: %s", (verb, group, resource, roles) => {
    const allowed = ["viewer", "operator", "cluster-admin"].filter((role) => canI(role, verb, group, resource));
    expect(allowed.join(" ")).toBe(roles);
  });

  it("ClusterRoles for users contain no wildcards", () => {
    expect(JSON.stringify(clusterRoles)).not.toContain("*");
  });
});
