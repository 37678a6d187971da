import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { providerObjects } from "../../../lib/install/bootstrap-objects.ts";
import { differencesOf, planObjects } from "../../../lib/install/bootstrap-plan.ts";
import { formatObjectId, type ManagedObject, managedObject } from "../../../lib/install/managed-object.ts";

const desired = providerObjects({ path: "root:tmc", tenants: "system:authenticated" });
const asStored = (object: ManagedObject): KubeObject =>
  JSON.parse(JSON.stringify({ ...object, metadata: { ...object.metadata, uid: "u", resourceVersion: "1" } }));
const present = new Map(desired.map((object) => [formatObjectId(object), asStored(object)]));
const object = (id: string): ManagedObject => {
  const found = desired.find((each) => formatObjectId(each) === id);
  if (found === undefined) throw new Error(`no desired object ${id}`);
  return found;
};

type Case = Readonly<{ id: string; change: (stored: KubeObject) => unknown; action?: string; differences: string[] }>;

const cases: Readonly<Record<string, Case>> = {
  "plans nothing for an object in its desired state": { id: "APIExport tmc.kcp.io", change: () => {}, differences: [] },
  "keeps labels that others added": {
    id: "Namespace tmc-system",
    change: (stored) => Object.assign(stored.metadata.labels ?? {}, { team: "a" }),
    differences: [],
  },
  "adds the managed-by label to an existing object": {
    id: "Namespace tmc-system",
    change: (stored) => delete stored.metadata.labels,
    action: "change",
    differences: ['metadata.labels.app.kubernetes.io/managed-by: nothing, desired "tmc"'],
  },
  "removes a rule that was added to a role": {
    id: "ClusterRole tmc:relay",
    change: (stored) => listOf(stored.rules).push({ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }),
    action: "change",
    differences: ["rules: 0 missing, 1 unexpected"],
  },
  "restores a rule that was removed from a role": {
    id: "ClusterRole tmc:worker",
    change: (stored) => listOf(stored.rules).pop(),
    action: "change",
    differences: ["rules: 1 missing, 0 unexpected"],
  },
  "replaces a binding to another role, because roleRef is immutable": {
    id: "ClusterRoleBinding tmc:relay",
    change: (stored) => Object.assign(stored.roleRef as object, { name: "cluster-admin" }),
    action: "replace",
    differences: [
      'roleRef: {"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-ad…, desired {"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"tmc:relay"}',
    ],
  },
  "removes a subject that was added to a binding": {
    id: "ClusterRoleBinding tmc:relay",
    change: (stored) => listOf(stored.subjects).push({ kind: "User", name: "mallory" }),
    action: "change",
    differences: ["subjects: 0 missing, 1 unexpected"],
  },
  "keeps types that others added to the export, in any order": {
    id: "APIExport tmc.kcp.io",
    change: (stored) =>
      listOf(specOf(stored).resources).unshift({
        name: "widgets",
        group: "example.dev",
        schema: "v1.widgets.example.dev",
      }),
    differences: [],
  },
  "names the type of the export whose schema differs": {
    id: "APIExport tmc.kcp.io",
    change: (stored) => Object.assign(listOf(specOf(stored).resources)[3] as object, { schema: "v0.deployments.apps" }),
    action: "change",
    differences: [
      expect.stringMatching(/^spec\.resources\[deployments\.apps\]\.schema: "v0\.deployments\.apps", desired "v1-/),
    ],
  },
  "names the permission claim of the export whose verbs differ": {
    id: "APIExport tmc.kcp.io",
    change: (stored) => Object.assign(listOf(specOf(stored).permissionClaims)[2] as object, { verbs: ["*"] }),
    action: "change",
    differences: ['spec.permissionClaims[secrets.core].verbs: ["*"], desired ["get","list","watch"]'],
  },
  "restores a missing maximal permission policy of the export": {
    id: "APIExport tmc.kcp.io",
    change: (stored) => delete specOf(stored).maximalPermissionPolicy,
    action: "change",
    differences: ["spec.maximalPermissionPolicy.local: nothing, desired {}"],
  },
  "ignores fields that the server added": {
    id: "WorkspaceType tenant",
    change: (stored) => Object.assign(specOf(stored), { initializer: false }),
    differences: [],
  },
};

describe("bootstrap plan", () => {
  it.each(Object.entries(cases))("%s", (_, { id, change, action, differences }) => {
    const stored = asStored(object(id));
    change(stored);
    const before = structuredClone(stored);
    expect(differencesOf(stored, object(id))).toEqual(differences);
    const steps = planObjects([object(id)], () => stored);
    expect(steps.map((step) => step.action)).toEqual(action === undefined ? [] : [action]);
    expect(stored).toEqual(before);
  });

  it("creates all objects of a new installation after the objects that they depend on", () => {
    const ids = planObjects(desired, () => undefined).map((step) => formatObjectId(step.object));
    expect(ids).toHaveLength(desired.length);
    const at = (id: string): number => ids.indexOf(id);
    // An export with a policy but without its roles denies every request; a WorkspaceType can bind only an existing export.
    expect(at("ClusterRoleBinding tmc:policy:tenants")).toBeLessThan(at("APIExport tmc.kcp.io"));
    expect(at("APIExport tmc.kcp.io")).toBeLessThan(at("WorkspaceType tenant"));
    expect(at("Namespace tmc-system")).toBeLessThan(at("ServiceAccount tmc-relay"));
    expect(Math.max(...ids.flatMap((id, index) => (id.startsWith("APIResourceSchema") ? [index] : [])))).toBeLessThan(
      at("APIExport tmc.kcp.io"),
    );
  });

  it("plans nothing for a complete installation", () => {
    expect(planObjects(desired, (each) => present.get(formatObjectId(each)))).toEqual([]);
  });

  it("rejects an existing schema of the same name with different content", () => {
    const schema = desired.find(({ kind }) => kind === "APIResourceSchema") ?? object("");
    const stored = asStored(schema);
    Object.assign(specOf(stored), { scope: "Namespaced" });
    expect(() => planObjects([schema], () => stored)).toThrow(
      /^kcp: APIResourceSchema \S+: exists with different content \(spec\.scope: "Namespaced", desired "Cluster"\); delete it first$/,
    );
  });

  it("gives every object a unique name and the managed-by label", () => {
    for (const each of desired) {
      expect(each.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "tmc" });
    }
    expect(new Set(desired.map(formatObjectId)).size).toBe(desired.length);
  });

  it("rejects a kind that is not installable", () => {
    expect(() => managedObject({ kind: "Pod", metadata: { name: "a" } })).toThrow("Pod is not an installable kind");
  });
});

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function specOf({ spec }: KubeObject): Record<string, unknown> {
  return spec as Record<string, unknown>;
}
