import { valueAt } from "@tmc/kube/json.ts";
import { describe, expect, it } from "vitest";
import { bindingFromStored, bindingToStored, exportFromStored, exportToStored } from "../../src/kcp/conversion.ts";

const stored = (kind: string, spec: object, extra: object = {}) => ({
  apiVersion: "apis.kcp.io/v1alpha2",
  kind,
  metadata: { name: "x", annotations: { "kcp.io/path": "root:a" } },
  spec,
  status: {},
  ...extra,
});
const resource = { group: "example.dev", name: "widgets", schema: "v1.widgets.example.dev", storage: { crd: {} } };
const claim = { group: "", identityHash: "", resource: "configmaps", verbs: ["get", "list"] };

describe("conversion between v1alpha1 and the stored v1alpha2", () => {
  it("derives the resources of an export from the names of its schemas", () => {
    const converted = exportToStored({
      apiVersion: "apis.kcp.io/v1alpha1",
      kind: "APIExport",
      metadata: { name: "x" },
      spec: { latestResourceSchemas: ["v1.widgets.example.dev", "v1.services.core"] },
    });
    expect(valueAt(converted, "spec", "resources")).toEqual([
      resource,
      { group: "", name: "services", schema: "v1.services.core", storage: { crd: {} } },
    ]);
  });

  it("keeps the fields of an export that v1alpha1 lacks in annotations, and restores them", () => {
    const original = stored("APIExport", { resources: [resource], permissionClaims: [claim] });
    const old = exportFromStored(original);
    expect(valueAt(old, "spec")).toEqual({
      latestResourceSchemas: ["v1.widgets.example.dev"],
      permissionClaims: [{ resource: "configmaps" }],
    });
    expect(old.metadata.annotations?.["apis.v1alpha2.kcp.io/permission-claims"]).toBe(
      '[{"resource":"configmaps","verbs":["get","list"]}]',
    );
    const { spec } = exportToStored(old);
    expect(spec).toEqual(original.spec);
  });

  it("converts claims without verbs to claims of all verbs", () => {
    const binding = bindingToStored({
      apiVersion: "apis.kcp.io/v1alpha1",
      kind: "APIBinding",
      metadata: { name: "x" },
      spec: {
        reference: { export: { path: "root:a", name: "e" } },
        permissionClaims: [{ resource: "secrets", all: true, state: "Accepted" }],
      },
    });
    expect(valueAt(binding, "spec", "permissionClaims")).toEqual([
      {
        group: "",
        resource: "secrets",
        identityHash: "",
        verbs: ["*"],
        selector: { matchAll: true },
        state: "Accepted",
      },
    ]);
  });

  it("keeps a binding unchanged through v1alpha1 and back", () => {
    const scoped = { ...claim, selector: { matchLabels: { a: "b" } } };
    const original = stored(
      "APIBinding",
      { reference: { export: { name: "e" } }, permissionClaims: [{ ...scoped, state: "Accepted" }] },
      { status: { phase: "Bound", exportPermissionClaims: [claim], appliedPermissionClaims: [scoped] } },
    );
    const back = bindingToStored(bindingFromStored(original));
    expect(back).toEqual(original);
  });

  it("does not change its input", () => {
    const original = stored("APIExport", { resources: [resource], permissionClaims: [claim] });
    const before = structuredClone(original);
    exportToStored(exportFromStored(original));
    expect(original).toEqual(before);
  });
});
