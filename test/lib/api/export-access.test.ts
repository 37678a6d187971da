import { describe, expect, it } from "vitest";
import { permissionPolicy, serviceAccess } from "../../../lib/api/export-access.ts";
import { offeredKinds } from "../../../lib/api/kinds.ts";

type Rule = Readonly<{ apiGroups: string[]; resources: string[]; resourceNames?: string[]; verbs: string[] }>;
type Role = Readonly<{ kind: string; metadata: { name: string }; rules: readonly Rule[] }>;

const objects = [...permissionPolicy(offeredKinds), ...serviceAccess()] as readonly Role[];
const roles = objects.filter(({ kind }) => kind === "ClusterRole" || kind === "Role");

function may(role: string, verb: string, group: string, resource: string): boolean {
  return roles.some(
    ({ metadata, rules }) =>
      metadata.name === role &&
      rules.some(
        ({ apiGroups, resources, verbs }) =>
          apiGroups.includes(group) && resources.includes(resource) && (verbs.includes(verb) || verbs.includes("*")),
      ),
  );
}

type Row = readonly [verb: string, group: string, resource: string, roles: string];
const rows: readonly Row[] = [
  ["list", "apis.kcp.io", "apiexports/content", "relay worker"],
  ["watch", "apis.kcp.io", "apiexports/content", "relay worker"],
  ["get", "apis.kcp.io", "apiexports/content", "worker"],
  ["create", "apis.kcp.io", "apiexports/content", "worker"],
  ["patch", "apis.kcp.io", "apiexports/content", "worker"],
  ["update", "apis.kcp.io", "apiexports/content", "worker"],
  ["delete", "apis.kcp.io", "apiexports/content", "worker"],
  ["deletecollection", "apis.kcp.io", "apiexports/content", ""],
  ["list", "apis.kcp.io", "apiexportendpointslices", "relay worker"],
  ["get", "apis.kcp.io", "apiexports", "worker"],
  ["list", "apis.kcp.io", "apiexports", "relay worker"],
  ["list", "apis.kcp.io", "apiresourceschemas", "relay worker"],
  ["get", "apis.kcp.io", "apiresourceschemas", "worker"],
  ["update", "apis.kcp.io", "apiexports", ""],
  ["list", "", "secrets", ""],
  ["create", "coordination.k8s.io", "leases", "leases"],
  ["update", "coordination.k8s.io", "leases", "leases"],
  ["watch", "coordination.k8s.io", "leases", ""],
  ["create", "", "events", "worker"],
  ["get", "", "events", "worker"],
  ["patch", "", "events", "worker"],
  ["list", "", "events", ""],
  ["create", "tmc.kcp.io", "clusterregistrations", "policy:tenants policy:operators"],
  ["patch", "tmc.kcp.io", "clusterregistrations/status", "policy:operators"],
  ["get", "tmc.kcp.io", "clusterregistrations/status", "policy:tenants policy:operators"],
  ["patch", "apps", "deployments/status", "policy:operators"],
  ["patch", "apps", "deployments/scale", "policy:tenants policy:operators"],
  ["list", "tmc.kcp.io", "workloadsyncs", "policy:tenants policy:operators"],
  ["create", "tmc.kcp.io", "workloadsyncs", "policy:operators"],
  ["delete", "tmc.kcp.io", "workloadsyncs", "policy:operators"],
];

describe("access to the APIExport", () => {
  it.each(rows)("the verb %s on %s/%s is granted to: %s", (verb, group, resource, roles) => {
    const all = ["relay", "worker", "leases", "policy:tenants", "policy:operators"];
    expect(all.filter((role) => may(`tmc:${role}`, verb, group, resource)).join(" ")).toBe(roles);
  });

  it("roles of the APIExport use no wildcard resources and grant content only of this export", () => {
    for (const { rules } of roles) {
      for (const { apiGroups, resources, resourceNames } of rules) {
        expect([...apiGroups, ...resources]).not.toContain("*");
        if (resources.includes("apiexports/content")) expect(resourceNames).toEqual(["tmc.kcp.io"]);
      }
    }
  });
});
