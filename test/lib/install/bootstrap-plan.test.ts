import type { KubeObject } from "@tmc/kube/kube-object.ts";
import { describe, expect, it } from "vitest";
import { providerObjects } from "../../../lib/install/bootstrap-objects.ts";
import { differencesOf, planObjects } from "../../../lib/install/bootstrap-plan.ts";
import { idOf, type ManagedObject, managedObject } from "../../../lib/install/managed-object.ts";

const wanted = providerObjects({ path: "root:tmc", tenants: "system:authenticated" });
const asStored = (object: ManagedObject): KubeObject =>
  JSON.parse(JSON.stringify({ ...object, metadata: { ...object.metadata, uid: "u", resourceVersion: "1" } }));
const present = new Map(wanted.map((object) => [idOf(object), asStored(object)]));
const object = (id: string): ManagedObject => {
  const found = wanted.find((each) => idOf(each) === id);
  if (found === undefined) throw new Error(`nothing is called ${id}`);
  return found;
};

type Case = Readonly<{ id: string; change: (stored: KubeObject) => unknown; action?: string; differences: string[] }>;

const cases: Readonly<Record<string, Case>> = {
  "leaves what is as it is wanted": { id: "APIExport tmc.kcp.io", change: () => {}, differences: [] },
  "leaves labels that others have put there": {
    id: "Namespace tmc-system",
    change: (stored) => Object.assign(stored.metadata.labels ?? {}, { team: "a" }),
    differences: [],
  },
  "puts its mark on an object that was there before": {
    id: "Namespace tmc-system",
    change: (stored) => delete stored.metadata.labels,
    action: "change",
    differences: ['metadata.labels.app.kubernetes.io/managed-by: nothing, wanted "tmc"'],
  },
  "takes away a rule that somebody has added to a role": {
    id: "ClusterRole tmc:relay",
    change: (stored) => listOf(stored.rules).push({ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }),
    action: "change",
    differences: ["rules: 0 missing, 1 too many"],
  },
  "gives a role back the rule that it has lost": {
    id: "ClusterRole tmc:worker",
    change: (stored) => listOf(stored.rules).pop(),
    action: "change",
    differences: ["rules: 1 missing, 0 too many"],
  },
  "replaces a binding that leads to another role, which cannot be changed": {
    id: "ClusterRoleBinding tmc:relay",
    change: (stored) => Object.assign(stored.roleRef as object, { name: "cluster-admin" }),
    action: "replace",
    differences: [
      'roleRef: {"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"cluster-ad…, wanted {"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"tmc:relay"}',
    ],
  },
  "takes away somebody who is no subject of a binding": {
    id: "ClusterRoleBinding tmc:relay",
    change: (stored) => listOf(stored.subjects).push({ kind: "User", name: "mallory" }),
    action: "change",
    differences: ["subjects: 0 missing, 1 too many"],
  },
  "leaves types that others have added to the export, in any order": {
    id: "APIExport tmc.kcp.io",
    change: (stored) =>
      listOf(specOf(stored).resources).unshift({
        name: "widgets",
        group: "example.dev",
        schema: "v1.widgets.example.dev",
      }),
    differences: [],
  },
  "names the schema of the export that is not the wanted one": {
    id: "APIExport tmc.kcp.io",
    change: (stored) => Object.assign(listOf(specOf(stored).resources)[3] as object, { schema: "v0.deployments.apps" }),
    action: "change",
    differences: [
      expect.stringMatching(/^spec\.resources\[deployments\.apps\]\.schema: "v0\.deployments\.apps", wanted "v1-/),
    ],
  },
  "names the claim of the export whose verbs are not the wanted ones": {
    id: "APIExport tmc.kcp.io",
    change: (stored) => Object.assign(listOf(specOf(stored).permissionClaims)[2] as object, { verbs: ["*"] }),
    action: "change",
    differences: ['spec.permissionClaims[secrets.core].verbs: ["*"], wanted ["get","list","watch"]'],
  },
  "closes an export that has lost its policy": {
    id: "APIExport tmc.kcp.io",
    change: (stored) => delete specOf(stored).maximalPermissionPolicy,
    action: "change",
    differences: ["spec.maximalPermissionPolicy.local: nothing, wanted {}"],
  },
  "leaves what the server has filled in": {
    id: "WorkspaceType tenant",
    change: (stored) => Object.assign(specOf(stored), { initializer: false }),
    differences: [],
  },
};

describe("the plan of an installation", () => {
  it.each(Object.entries(cases))("%s", (_, { id, change, action, differences }) => {
    const stored = asStored(object(id));
    change(stored);
    const before = structuredClone(stored);
    expect(differencesOf(stored, object(id))).toEqual(differences);
    const steps = planObjects([object(id)], () => stored);
    expect(steps.map((step) => step.action)).toEqual(action === undefined ? [] : [action]);
    expect(stored).toEqual(before);
  });

  it("makes everything where nothing is, in an order in which each finds what it needs", () => {
    const ids = planObjects(wanted, () => undefined).map((step) => idOf(step.object));
    expect(ids).toHaveLength(wanted.length);
    const at = (id: string): number => ids.indexOf(id);
    // Without the roles of its policy an export is closed to all; a type may only bind an export that is there.
    expect(at("ClusterRoleBinding tmc:policy:tenants")).toBeLessThan(at("APIExport tmc.kcp.io"));
    expect(at("APIExport tmc.kcp.io")).toBeLessThan(at("WorkspaceType tenant"));
    expect(at("Namespace tmc-system")).toBeLessThan(at("ServiceAccount tmc-relay"));
    expect(Math.max(...ids.flatMap((id, index) => (id.startsWith("APIResourceSchema") ? [index] : [])))).toBeLessThan(
      at("APIExport tmc.kcp.io"),
    );
  });

  it("asks for nothing where everything is", () => {
    expect(planObjects(wanted, (each) => present.get(idOf(each)))).toEqual([]);
  });

  it("refuses a schema of the same name with another content", () => {
    const schema = wanted.find(({ kind }) => kind === "APIResourceSchema") ?? object("");
    const stored = asStored(schema);
    Object.assign(specOf(stored), { scope: "Namespaced" });
    expect(() => planObjects([schema], () => stored)).toThrow(
      /^kcp: APIResourceSchema \S+: is there with another content \(spec\.scope: "Namespaced", wanted "Cluster"\); remove it first$/,
    );
  });

  it("gives every object a name and our mark", () => {
    for (const each of wanted) {
      expect(each.metadata.labels).toEqual({ "app.kubernetes.io/managed-by": "tmc" });
    }
    expect(new Set(wanted.map(idOf)).size).toBe(wanted.length);
  });

  it("knows no other kinds", () => {
    expect(() => managedObject({ kind: "Pod", metadata: { name: "a" } })).toThrow(
      "Pod is not a kind that is installed",
    );
  });
});

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function specOf({ spec }: KubeObject): Record<string, unknown> {
  return spec as Record<string, unknown>;
}
