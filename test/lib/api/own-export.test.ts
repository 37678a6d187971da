import { describe, expect, it } from "vitest";
import { apiBinding, apiExport, type ExportVersion, exportVersions } from "../../../lib/api/api-export.ts";
import { bindingName, exportWorkspace } from "../../../lib/api/group.ts";
import { kinds } from "../../../lib/api/kinds.ts";
import { apiResourceSchema } from "../../../lib/api/resource-schema.ts";
import { workloadTypes } from "../../../lib/api/workload-types.ts";
import { bindingsPath, kcpForEachTest, schemasPath } from "../../../packages/embedded/test/kcp/support.ts";

const test = kcpForEachTest();

const served = [...kinds, ...workloadTypes];

/** Installs the APIExport and binds it in `root:demo`, in one version of kcp's API. */
async function bound(version: ExportVersion): Promise<void> {
  test.kcp.createWorkspace(exportWorkspace);
  test.kcp.createWorkspace("root:demo");
  for (const kind of served) {
    const answer = await test.call("POST", `/clusters/${exportWorkspace}${schemasPath}`, apiResourceSchema(kind));
    expect(answer).toMatchObject({ status: 201 });
  }
  const apis = (place: string, plural: string) => `/clusters/${place}/apis/apis.kcp.io/${version}/${plural}`;
  expect(await test.call("POST", apis(exportWorkspace, "apiexports"), apiExport(served, version))).toMatchObject({
    status: 201,
  });
  expect(await test.call("POST", apis("root:demo", "apibindings"), apiBinding({ version }))).toMatchObject({
    status: 201,
  });
}

describe("TMC's APIExport in kcp", () => {
  for (const version of exportVersions) {
    it(`TMC's APIExport is bound with all claims applied in ${version}`, async () => {
      await bound(version);
      const conditions = await test.read(`/clusters/root:demo${bindingsPath}/${bindingName}`, "status", "conditions");
      expect(conditions).toEqual(
        [
          "Ready",
          "APIExportValid",
          "BindingUpToDate",
          "InitialBindingCompleted",
          "PermissionClaimsApplied",
          "PermissionClaimsValid",
        ].map((type) => expect.objectContaining({ type, status: "True" })),
      );
    });
  }

  it("a workspace that binds TMC's APIExport serves every kind", async () => {
    await bound("v1alpha2");
    for (const { group, version, plural } of served) {
      const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
      expect(await test.call("GET", `/clusters/root:demo${root}/${plural}`)).toMatchObject({ status: 200 });
    }
  });
});
